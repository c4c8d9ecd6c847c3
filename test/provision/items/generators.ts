import { goProgram, pathWithGo } from '../goProgram.ts';
import { npmPackages, packageFolder, pythonEnvironment, unpackedWheels } from '../packages.ts';
import { go } from './go.ts';

/** Generators for TypeScript, and the compiler of what they generate. */
export const typescriptGenerators = npmPackages(
  'typescript-generators',
  ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', '@hey-api/openapi-ts@0.99.0', 'typescript@5.9.3'],
  40,
);

export const pythonGenerator = pythonEnvironment(
  'python-generator',
  ['openapi-python-client==0.29.1', 'mypy==1.18.2'],
  60,
);

/** OpenAPI Generator. The wheel contains its official jar. */
export const openapiGenerator = unpackedWheels('openapi-generator', ['openapi-generator-cli==7.26.0'], 15);

export const oapiCodegen = goProgram({
  name: 'oapi-codegen',
  source: 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2',
  usually: 60,
});

/** The packages that generated Go clients import. */
const IMPORTS = [
  'github.com/oapi-codegen/runtime',
  'github.com/oapi-codegen/runtime/types',
  'gopkg.in/validator.v2',
];

/** `go.mod` and `go.sum` of a module that is named `example.com/client`, and a module cache in the folder `modules`. */
export const goModules = packageFolder({
  name: 'go-clients',
  packages: ['github.com/oapi-codegen/runtime@v1.8.0', 'gopkg.in/validator.v2@v2.0.1'],
  client: 'Go',
  usually: 10,
  needs: [go],
  help: 'Go.',
  files: {
    'go.mod': 'module example.com/client\n\ngo 1.24\n',
    'imports.go': `package client\n\nimport (\n${IMPORTS.map((path) => `\t_ "${path}"\n`).join('')})\n`,
  },
  script: 'export GOMODCACHE="$PWD/modules" GOFLAGS=-modcacherw\ngo get "$@"\ngo mod tidy\ngo mod download',
  env: async (log, signal) => ({ PATH: await pathWithGo(process.env.PATH, log, signal) }),
});

/** Libraries that the generated Java client uses: groupId, artifactId and version. */
const JAVA_LIBRARIES = [
  'com.fasterxml.jackson.core jackson-databind 2.21.6',
  'com.fasterxml.jackson.datatype jackson-datatype-jsr310 2.21.6',
  'jakarta.annotation jakarta.annotation-api 2.1.1',
  'com.google.code.findbugs jsr305 3.0.2',
];

const dependency = (line: string): string => {
  const [group, artifact, version] = line.split(' ');
  return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
};
const PROJECT =
  '<modelVersion>4.0.0</modelVersion><groupId>test</groupId><artifactId>test</artifactId><version>1</version>';

/** The jars of the Java client in the folder `lib`. */
export const javaLibraries = packageFolder({
  name: 'java-client',
  packages: JAVA_LIBRARIES,
  client: 'Maven',
  usually: 30,
  help: 'Maven (Debian: apt-get install maven).',
  files: {
    'pom.xml': `<project>${PROJECT}<dependencies>${JAVA_LIBRARIES.map(dependency).join('')}</dependencies></project>\n`,
  },
  script: 'mvn -B dependency:copy-dependencies -DoutputDirectory=lib',
});
