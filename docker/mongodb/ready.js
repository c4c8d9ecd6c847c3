// Health check of MongoDB, run by mongosh. Exits with 0 on a writable primary. On the first start it also creates the
// replica set and the users. MongoDB allows this from localhost until the first user exists (localhost exception).
const { readFileSync } = require('node:fs');

const secret = (name) => readFileSync(`/run/secrets/${name}`, 'utf8').trim();
const admin = db.getSiblingDB('admin');
const rootPassword = secret('mongodb_root_password');
const [, user, password, database] =
  /^mongodb:\/\/([^:@/]+):([^:@/]+)@[^/]+\/([^?]+)/.exec(secret('mongodb_uri')) ?? quit(2);

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
if (admin.getUser(user) === null)
  admin.createUser({
    user,
    pwd: password,
    roles: [
      { role: 'readWrite', db: database },
      { role: 'dbAdmin', db: database },
    ],
  });
quit(0);
