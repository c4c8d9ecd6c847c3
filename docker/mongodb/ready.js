// Health check of MongoDB, run by mongosh. Exits with 0 on a writable primary. On the first start it also creates the
// replica set, the users and the gateway's role. MongoDB allows this from localhost until the first user exists (localhost exception).
const { readFileSync } = require('node:fs');

const secret = (name) => readFileSync(`/run/secrets/${name}`, 'utf8').trim();
const admin = db.getSiblingDB('admin');
const rootPassword = secret('mongodb_root_password');
const parse = (name) => {
  const [, user, pwd, database] =
    /^mongodb:\/\/([^:@/]+):([^:@/]+)@[^/]+\/([^?]+)/.exec(secret(name)) ?? quit(2);
  return { user, pwd, database };
};
const service = parse('mongodb_uri');
const gateway = parse('mongodb_gateway_uri');

const signIn = () => {
  try {
    return admin.auth('root', rootPassword).ok === 1;
  } catch {
    return false;
  }
};
const ensurePrimary = () => {
  if (!db.hello().isWritablePrimary) quit(1);
};

if (!signIn()) {
  try {
    rs.initiate({ _id: 'rs0', members: [{ _id: 0, host: 'mongodb:27017' }] });
  } catch (error) {
    if (error.codeName !== 'AlreadyInitialized') throw error;
  }
  ensurePrimary();
  admin.createUser({ user: 'root', pwd: rootPassword, roles: ['root'] });
  if (!signIn()) quit(1);
}
ensurePrimary();
if (admin.getUser(service.user) === null)
  admin.createUser({
    user: service.user,
    pwd: service.pwd,
    roles: [
      { role: 'readWrite', db: service.database },
      { role: 'dbAdmin', db: service.database },
    ],
  });
// The gateway stores and reads pieces of results, and nothing else.
const role = 'utility-tools-results';
if (admin.getRole(role) === null)
  admin.createRole({
    role,
    privileges: [
      {
        resource: { db: gateway.database, collection: 'results' },
        actions: ['find', 'insert', 'update'],
      },
    ],
    roles: [],
  });
if (admin.getUser(gateway.user) === null)
  admin.createUser({ user: gateway.user, pwd: gateway.pwd, roles: [{ role, db: 'admin' }] });
quit(0);
