import { type Recipe, type RecipeInput, recipeSchema } from './recipe.ts';

/** The recipes that come with Hotcell. A user's configuration can add and replace them. */
export function builtInRecipes(): Recipe[] {
  return RECIPES.map((recipe) => recipeSchema.parse(recipe));
}

/**
 * Debian's Go packages are in a GOPATH, which Go uses only without modules. Without modules Go also gives programs the
 * behaviour of an old version (GODEBUG), so modules are turned off only for programs that need more than the standard
 * library.
 */
const GO_BUILD = `[ ! -d /usr/share/gocode/src ] || go list -deps "$2" >/dev/null 2>&1 || export GO111MODULE=off
exec go build -o "$1" "$2"`;

/** One entry per language. Libraries are those that Debian installs in the sandbox. */
const RECIPES: readonly RecipeInput[] = [
  {
    language: 'c',
    extensions: ['.c'],
    fileName: 'main.c',
    needs: ['gcc'],
    build: ['gcc', '-g', '-O1', '-I{workspace}', '-o', '{program}', '{source}', '-lm', '-lpthread'],
    run: ['{program}'],
    packages: 'gcc libc6-dev',
  },
  {
    language: 'cpp',
    extensions: ['.cpp', '.cc', '.cxx'],
    fileName: 'main.cpp',
    needs: ['g++'],
    build: ['g++', '-g', '-O1', '-I{workspace}', '-o', '{program}', '{source}', '-lpthread'],
    run: ['{program}'],
    packages: 'g++',
  },
  {
    language: 'go',
    extensions: ['.go'],
    fileName: 'main.go',
    needs: ['go', 'sh'],
    build: ['sh', '-c', GO_BUILD, 'go', '{program}', '{source}'],
    run: ['{program}'],
    environment: {
      GOCACHE: '/tmp/.cache/go-build',
      GOPATH: '/tmp/.cache/go:/usr/share/gocode',
      // There is no network: a missing package must fail at once with a clear message.
      GOPROXY: 'off',
      GOTOOLCHAIN: 'local',
      GOTELEMETRY: 'off',
      CGO_ENABLED: '0',
    },
    packages: 'golang-go',
  },
  {
    language: 'rust',
    extensions: ['.rs'],
    fileName: 'main.rs',
    needs: ['rustc', 'cc'],
    build: ['rustc', '--edition', '2021', '-g', '-C', 'opt-level=1', '-o', '{program}', '{source}'],
    run: ['{program}'],
    environment: { RUST_BACKTRACE: '1' },
    packages: 'rustc',
  },
  {
    language: 'java',
    extensions: ['.java'],
    fileName: 'Main.java',
    needs: ['javac', 'java'],
    // `-proc:none`: jars may contain annotation processors, which would run in every build. A missing folder is no
    // error.
    build: [
      'javac',
      '-J-XX:+UseSerialGC',
      '-proc:none',
      '-cp',
      '{folder}:/usr/share/java/*',
      '-d',
      '{folder}',
      '{source}',
    ],
    // The other garbage collectors start threads by the number of the host's processors.
    run: ['java', '-XX:+UseSerialGC', '-cp', '{folder}:{workspace}:/usr/share/java/*', '{main}'],
    packages: 'default-jdk-headless',
  },
  {
    language: 'ruby',
    extensions: ['.rb'],
    fileName: 'main.rb',
    needs: ['ruby'],
    run: ['ruby', '{source}'],
    environment: { RUBYLIB: '{workspace}' },
    packages: 'ruby',
  },
  {
    language: 'perl',
    extensions: ['.pl'],
    fileName: 'main.pl',
    needs: ['perl'],
    run: ['perl', '{source}'],
    environment: { PERL5LIB: '{workspace}' },
    packages: 'perl',
  },
  {
    language: 'r',
    extensions: ['.R', '.r'],
    fileName: 'main.R',
    needs: ['Rscript'],
    run: ['Rscript', '--vanilla', '{source}'],
    packages: 'r-base-core',
  },
  {
    language: 'sh',
    fileName: 'main.sh',
    needs: ['sh'],
    run: ['sh', '{source}'],
    packages: 'dash',
  },
];
