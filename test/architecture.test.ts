import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packageRoot } from '../src/lib/package-root.ts';

/** A folder imports only from folders before it. (`sandbox` before `config`: docs/adr/0001-sandbox-before-config.md.) */
const FOLDERS = [
  ...[
    'lib',
    'errors',
    'sandbox',
    'languages',
    'network',
    'registries',
    'config',
    'telemetry',
    'guest',
    'broker',
    'drivers',
    'execution',
  ],
  ...['notebooks', 'sessions', 'packages', 'directory', 'artifacts', 'mcp', 'http'],
  'main.ts',
  ...['index.ts', 'cli'],
];

/** Who reads the environment besides config/load.ts, and why that is not an option of ours. */
const READERS_OF_ENVIRONMENT: Readonly<Record<string, string>> = {
  'config/load.ts': 'the one reader of options',
  'cli/install/machine.ts':
    'APPDATA, XDG_CONFIG_HOME, CODEX_HOME and their like: where other programs keep their configuration',
  'cli/how-called.ts': 'npm_command and its like, by which npm says that it started this program',
  'lib/run-command.ts': 'hands it on whole to the programs it starts',
  'lib/program-folders.ts': 'PATH and VIRTUAL_ENV, which decide where programs are looked for',
  'cli/terminal.ts': 'TERM, NO_COLOR and their kin, by which a terminal says what it can do',
  'cli/run/environment.ts': '--env NAME, which hands on the value that a variable has here',
  'registries/installer-variables.ts':
    'PIP_INDEX_URL, npm_config_registry, http_proxy and their like: where installers find packages',
  'drivers/docker/engine-address.ts': "DOCKER_HOST, by which the engine's own tools are pointed at an engine",
};

/**
 * Who makes folders besides lib/own-folder.ts, and why another local user can do nothing with them. Anywhere else a folder that is ours would be taken
 * whoever made it first.
 */
const MAKERS_OF_FOLDERS: Readonly<Record<string, string>> = {
  'lib/own-folder.ts': 'the one maker of folders that are ours',
  'lib/trusted-path.ts': 'makes what is missing below a parent that it has checked',
  'lib/user-folders.ts': 'names the folder for temporary files, and makes none',
  'lib/make-folder.ts': 'folders that the caller named for output',
  'packages/tree/unpack-tree.ts': 'inside a new folder of the store, which makeOwnFolder made',
  'guest/layers/bound-installer.ts': 'in the folder of layers of this server, which makeOwnFolder made',
  'config/load.ts': 'names the folder of running servers; openRunFolder makes it',
  'telemetry/logger.ts': 'the folder of a log that the user named; the log itself is checked',
  'cli/open-folder.ts': 'folders that the user named for output and folders below them, each in one that is held open',
  'cli/install/held-parent.ts': 'the folder of a configuration of another program, below one that is held open',
  'drivers/process/arrivals.ts': 'new folders in one that makeOwnFolder has checked',
  'drivers/process/cgroup.ts': 'cgroups, which only their owner makes',
  'drivers/process/cgroup-place.ts': 'cgroups, which only their owner makes',
  'drivers/process/install-folder.ts': 'a new folder in one that makeOwnFolder has checked',
  'drivers/process/jail-layout.ts': 'inside a folder that installFolder made',
  'drivers/docker/setup/index.ts': 'inside a temporary folder of makeTemporaryFolder',
  'drivers/docker/setup/node-program.ts': 'inside a temporary folder of makeTemporaryFolder',
  'drivers/docker/container-layers.ts': 'inside a folder of layer-folders.ts',
  'drivers/layer-folders.ts': 'new folders in one that makeOwnFolder has checked',
  'guest/layers/bound.ts': 'inside folders of drivers/layer-folders.ts',
};

/**
 * SECURITY: who asks for folders of the user besides lib/user-folders.ts, which ignores empty and relative paths. With `HOME=` or `XDG_CONFIG_HOME=.config` the
 * folder would be one of the current folder, and a stranger's repository would configure the host.
 */
const NAMERS_OF_USER_FOLDERS: Readonly<Record<string, string>> = {
  'lib/user-folders.ts': 'the one reader of these variables',
  'config/folders.ts': 'a remedy, which names the variable',
};
const NAMES_USER_FOLDER =
  /\b(?:homedir|tmpdir|userInfo)\b|\bXDG_|\b(?:env|variables)\b\??(?:\.|\[['"`])(?:HOME|USERPROFILE|TMPDIR)\b/;

/** SECURITY: who starts programs. Each names the folder that they start in: in a stranger's, a program may take its modules and settings from there. */
const STARTERS_OF_PROGRAMS = ['drivers/process/jail-process.ts', 'lib/run-command.ts'];
const STARTS_PROGRAM = /from '(node:)?child_process'(?<!import type [^\n]*)/;
/** SECURITY: who looks for a program as a shell does, only to tell the user about it. A sandbox may have placed it there. */
const TELLERS_OF_PROGRAMS = ['drivers/gvisor/runsc.ts', 'lib/find-program.ts'];
/** Modules with a line of Python in a string, and why it is no file of guest/bootstrap, where ruff and mypy read it. */
const WRITERS_OF_PYTHON: Readonly<Record<string, string>> = {
  'drivers/process/bwrap-arguments.ts': 'one line, with the folder of the guest in it',
  'packages/builder/open-in-sandbox.ts': 'one line, with the names of variables in it',
};
const WRITES_PYTHON = /['"`]\s*(?:import [a-z_, ]+(?:[;'"`]|\\n|\n)|from [\w.]+ import )/;
/** Of Python: `-m` alone puts the folder that it is started in before its own modules. */
const RUNS_MODULE = /(?<!'-I', )'-m', '[a-z]/;

/**
 * SECURITY: who writes files without saying with which mode, and why no other local user can open them. Elsewhere a loose umask would let another user open a file
 * for writing before its mode is set, and rewrite it later.
 */
const WRITERS_WITHOUT_MODE: Readonly<Record<string, string>> = {
  'cli/write-output.ts': 'a file that the person asked for, with the mode that their umask gives',
  'drivers/docker/setup/node-program.ts': 'inside a temporary folder of makeTemporaryFolder',
  'drivers/docker/socket-memory.ts': 'cgroups, whose files the kernel makes',
  'drivers/gvisor/setup.ts': 'inside a temporary folder of makeTemporaryFolder',
  'drivers/process/cgroup.ts': 'cgroups, whose files the kernel makes',
  'drivers/process/cgroup-place.ts': 'cgroups, whose files the kernel makes',
  'drivers/process/jail-layout.ts': 'inside a folder that installFolder closes to others until it is whole',
  'drivers/process/jail-process.ts': 'files of /proc',
};

/** SECURITY: who names files of `/proc/<pid>` other than to `readAtMost`, and why none is read there. Another user decides how long such a file is. */
const NAMERS_OF_PROCESSES: Readonly<Record<string, string>> = {
  'drivers/docker/container-config.ts': 'entries of /proc that are covered',
  'drivers/docker/mount-descriptors.ts': "links to this process's own descriptors",
  'drivers/process/jail-layout.ts': 'entries of /proc that are covered',
  'drivers/process/jail-process.ts': 'writes the uid map of a jail',
};

/** Modules with state at module level, and why two Hotcells in one process, or two test files in one worker, may share it. */
const MODULE_STATE: Readonly<Record<string, string>> = {
  'cli/current-folder.ts': 'the current folder, held open: a process has one',
  'lib/lookups.ts': 'the lookups that are under way: a process has one pool of threads',
  'mcp/present/latest-output.ts': 'the last lines of an execution, by the execution: two readers may share them',
  'lib/ids.ts': 'random bytes that are not yet used: any caller may have them',
  'lib/program-folders.ts': 'the mount roots that a command of the CLI passes over: a process is one command',
  'lib/mount-table.ts': 'the mounts of the host, prepared: a process has one mount namespace',
  'sessions/denied-places.ts': 'denied paths, prepared: a list that is not the same is prepared on its own',
  'guest/frame-reader.ts': 'the turns of guests that are behind: a process has one event loop',
};

/** What every driver may import whose guest arrives through a pipe. It knows no driver itself. */
const FOR_EVERY_DRIVER = 'pipe-guest';

/** Packages that are loaded only when they are used: they cost every start that does without them. */
const LOADED_LATE = ['dockerode', 'pino', 'prom-client'];

/** SECURITY: what the CLI shows comes from programs, servers and projects, and a terminal obeys what it is shown. One module filters it. */
const WRITER_OF_CLI = 'cli/output.ts';
const WRITES_TO_TERMINAL = [
  /\bprocess\s*\.\s*(stdout|stderr|_rawDebug|emitWarning)\b/,
  /\bprocess\s*\[/,
  /\bprocess\b(?!\s*[.:\w'/-])/, // handed on whole, or taken apart
  /\bconsole\s*\./,
  /\b(stdout|stderr)\b[^\n]*from '(node:)?process'/,
  /from '(node:)?(console|tty)'(?<!import type [^\n]*)/,
  /\bwriteSync\s*\(|\b(writeFileSync|writeFile|appendFileSync|createWriteStream)\s*\(\s*[12]\b|\/dev\/(tty|stdout|stderr|fd\/)/,
  /\bstdio:\s*['[][^\n]*inherit/,
];

/**
 * SECURITY: whose messages a model reads as Hotcell's own, and what they may not quote raw: `notes.md: all is well. Now run …` is a name that a file can have.
 * `quotedName` puts such a name in quotation marks.
 */
const SPEAKERS_OF_FILES = /^(mcp|http\/routes|directory|execution|artifacts|guest\/files)\b/;
const QUOTES_NAME_RAW = /HotcellError\(\s*(?:'\w+'|\w+),\s*`[^`]*\$\{(?:\w+\.)*(?:path|file|name|filename)\}/;

const NAMES_THAT_REFUSE_NOTHING = /(^|-)(utils?|helpers?|managers?|services?|base|common|misc)$/;

const source = join(packageRoot(), 'src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
const modules = files
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readFileSync(join(source, path), 'utf8') }))
  .map(({ path, text }) => ({ path, text: withoutComments(text), imports: importsOf(path, withoutComments(text)) }));

describe('the folders of src', () => {
  test('are all in the list', () => {
    expect([...new Set(modules.map(({ path }) => folderOf(path)))].filter((name) => !FOLDERS.includes(name))).toEqual(
      [],
    );
  });

  test('import only from folders before them in the list', () => {
    const wrong = modules.flatMap(({ path, imports }) =>
      imports
        .filter(({ file }) => file !== undefined && rank(file) > rank(path))
        .map(({ file }) => `${path} imports ${file}`),
    );
    expect(wrong).toEqual([]);
  });

  test('of the drivers know nothing of each other, but gvisor, which is docker with another runtime; all may use pipe-guest', () => {
    const wrong = modules.flatMap(({ path, imports }) =>
      imports
        .filter(
          ({ file }) => file !== undefined && driverOf(path) && driverOf(file) && driverOf(path) !== driverOf(file),
        )
        .filter(({ file }) => !(driverOf(path) === 'gvisor' && driverOf(file!) === 'docker'))
        .filter(({ file }) => driverOf(file!) !== FOR_EVERY_DRIVER)
        .map(({ file }) => `${path} imports ${file}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('the files of src', () => {
  test('import each other without cycles', () => {
    const graph = new Map(
      modules.map(({ path, imports }) => [path, imports.flatMap(({ file }) => (file === undefined ? [] : [file]))]),
    );
    expect(cycleIn(graph)).toBeUndefined();
  });

  test('import only files that there are', () => {
    const known = new Set(files);
    const wrong = modules.flatMap(({ path, imports }) =>
      imports.filter(({ file }) => file !== undefined && !known.has(file)).map(({ file }) => `${path} imports ${file}`),
    );
    expect(wrong).toEqual([]);
  });

  test('read the environment only where that is allowed', () => {
    const readers = modules
      .filter(({ text }) => /\bprocess\s*\.\s*env\b|\bprocess\s*\[|\benv\b[^'\n]*from 'node:process'/.test(text))
      .map(({ path }) => path);
    expect(readers.filter((path) => READERS_OF_ENVIRONMENT[path] === undefined)).toEqual([]);
  });

  test('ask for folders of the user in one module, which ignores those of the current folder', () => {
    const namers = modules.filter(({ text }) => NAMES_USER_FOLDER.test(text)).map(({ path }) => path);
    expect(namers.sort()).toEqual(Object.keys(NAMERS_OF_USER_FOLDERS).sort());
  });

  test.each([
    ["import { homedir } from 'node:os';", true],
    ['os.homedir()', true],
    ["join(env.XDG_CONFIG_HOME ?? '', 'uv')", true],
    ['const { XDG_RUNTIME_DIR } = env;', true],
    ['userInfo().homedir', true],
    ['process.env.HOME', true],
    ["variables['TMPDIR']", true],
    ['homeFolder()', false],
    ['env.HOTCELL_HOME', false],
  ])('and %s is seen to be such a question or not', (code, isOne) => {
    expect(NAMES_USER_FOLDER.test(code)).toBe(isOne);
  });

  test('make folders only where another local user cannot be first', () => {
    const makers = modules
      .filter(({ text }) => /\b(mkdir|mkdirSync|mkdtemp|mkdtempSync|temporaryFolder|makeFolder)\(/.test(text))
      .map(({ path }) => path);
    expect(makers.filter((path) => MAKERS_OF_FOLDERS[path] === undefined)).toEqual([]);
    expect(Object.keys(MAKERS_OF_FOLDERS).filter((path) => !makers.includes(path))).toEqual([]);
  });

  test('start programs in two modules, which name the folder, and run no module of Python from that folder', () => {
    const starters = modules.filter(({ text }) => STARTS_PROGRAM.test(text));
    expect(starters.map(({ path }) => path).sort()).toEqual(STARTERS_OF_PROGRAMS);
    for (const { text } of starters) {
      expect(text.match(/\bspawn\(/g)).toHaveLength(1);
      expect(text).toMatch(/\bspawn\([^;]*\bcwd: ([\w.]+ \?\? NEUTRAL_FOLDER|'\/'),/);
    }
    expect(modules.filter(({ text }) => RUNS_MODULE.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test('have no program of Python in a string, but for a line', () => {
    const writers = modules.filter(({ text }) => WRITES_PYTHON.test(text)).map(({ path }) => path);
    expect(writers.sort()).toEqual(Object.keys(WRITERS_OF_PYTHON).sort());
  });

  test('name programs that they run by paths, which are looked for outside of projects', () => {
    const wrong = modules
      .filter(({ path, text }) => !path.startsWith('mcp/') && /\brunCommand\(\s*['"`](?!\/)/.test(text))
      .map(({ path }) => path);
    expect(wrong).toEqual([]);
  });

  test('take programs from the search path only outside of projects, and run none that a shell would find', () => {
    const shellLike = modules.filter(({ text }) => /\bfindOnSearchPath\b/.test(text)).map(({ path }) => path);
    expect(shellLike.sort()).toEqual(TELLERS_OF_PROGRAMS);
    const folders = modules.filter(({ text }) => /\bpathFolders\b|env\.PATH\b/.test(text)).map(({ path }) => path);
    expect(folders.sort()).toEqual(['lib/find-program.ts', 'lib/program-folders.ts']);
  });

  test('read files of other processes by a helper that bounds them', () => {
    const users = modules
      .filter(({ text }) => /(?<!\b(?:readAtMost|readAtMostSync)\()[`'"]\/proc\/(?!self\b)(?:\$\{|['"`]|\d)/.test(text))
      .map(({ path }) => path);
    expect(users.sort()).toEqual(Object.keys(NAMERS_OF_PROCESSES).sort());
  });

  test('of the MCP server read whole files of sandboxes only with a place of their owner', () => {
    const readers = modules
      .filter(
        ({ path, text }) => path.startsWith('mcp/') && /\bfiles\.read\(|\bawait read(Text)?(Bytes|Lines)\(/.test(text),
      )
      .filter(({ path }) => path !== 'mcp/read-ranges.ts'); // pieces for a handler that has one
    expect(readers.length).toBeGreaterThan(3);
    const streamers = modules.filter(({ path, text }) => path.startsWith('mcp/') && /\bfiles\.stream\(/.test(text));
    expect(streamers.map(({ path }) => path)).toEqual(['mcp/read-ranges.ts']); // with a signal, and a turn for each piece
    const careless = readers.filter(({ text }) => !/\bplaceForFile\(\)|\bediting\.take\(/.test(text));
    expect(careless.map(({ path }) => path)).toEqual([]);
  });

  test('write no file that another local user may open before its mode is set', () => {
    const writers = modules
      .filter(({ text }) =>
        [...text.matchAll(/(?<!handle\.)\b(?:writeFile|writeFileSync|createWriteStream)\([\w`][^;]*/g)].some(
          ([call]) => !/\bmode: 0o6[04]{2}\b/.test(call),
        ),
      )
      .map(({ path }) => path);
    expect(writers.sort()).toEqual(Object.keys(WRITERS_WITHOUT_MODE).sort());
  });

  test('of the CLI write to the standard streams in one module only', () => {
    const wrong = modules
      .filter(({ path }) => path.startsWith('cli/') && path !== WRITER_OF_CLI)
      .filter(({ text }) => WRITES_TO_TERMINAL.some((pattern) => pattern.test(withoutStrings(text))))
      .map(({ path }) => path);
    expect(wrong).toEqual([]);
  });

  test.each([
    'process.stdout.write(text)',
    'process . stderr.write(text)',
    "process['stdout'].write(text)",
    'const { stdout } = process;',
    'await showLive(execution, process);',
    'output: Output = process,',
    'console.log(text)',
    "import { stdout } from 'node:process';",
    "import { WriteStream } from 'node:tty';",
    'writeSync(1, text)',
    "createWriteStream('/dev/tty')",
    "spawn('less', { stdio: 'inherit' })",
  ])('and %s is seen to be such a write', (code) => {
    expect(WRITES_TO_TERMINAL.some((pattern) => pattern.test(withoutStrings(code)))).toBe(true);
  });

  test('of the CLI send what libraries write to the console through that module, before anything else', () => {
    const program = modules.find(({ path }) => path === 'cli/program.ts')!;
    expect(program.text).toMatch(/function runCli\([^{]*\{\s*routeConsole\(/);
  });

  // SECURITY: the MCP client compiles the schemas of a tool's list, with the regular expressions of whoever runs the server, and warns of its names.
  test('never have the MCP client fetch a list of tools', () => {
    const wrong = modules.filter(({ text }) => /\.\s*(callTool|listTools)\s*\(/.test(text)).map(({ path }) => path);
    expect(wrong).toEqual([]);
  });

  test('quote the names of files in messages', () => {
    const wrong = modules.filter(({ path, text }) => SPEAKERS_OF_FILES.test(path) && QUOTES_NAME_RAW.test(text));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  test.each([
    [`throw new HotcellError('invalid_argument', \`\${path}: not text\`, {`, true],
    [`new HotcellError(\n  'file_too_large',\n  \`of \${file.name}\``, true],
    [`return new HotcellError(code, \`\${path}: \${said}\`)`, true],
    [`return new HotcellError(code, \`\${quotedName(path)}: \${said}\`)`, false],
  ])('and %s is seen to do so or not', (code, isRaw) => {
    expect(QUOTES_NAME_RAW.test(code)).toBe(isRaw);
  });

  test('have names that refuse something', () => {
    const parts = files.flatMap((path) => path.replace(/(\.test)?\.ts$/, '').split('/'));
    expect(parts.filter((part) => NAMES_THAT_REFUSE_NOTHING.test(part))).toEqual([]);
  });

  test('keep no state at module level, but for what all may share', () => {
    const stateful = modules
      .filter(({ text }) =>
        /^(?:export )?(?:let|var) |^(?:export )?const \w+.* = (?:new (?:Map|Set|WeakMap|WeakSet)\b.*\(\);|\[\];|create(?!Escaper)\w+\()/m.test(
          text,
        ),
      )
      .map(({ path }) => path);
    expect(stateful.sort()).toEqual(Object.keys(MODULE_STATE).sort());
  });

  test('load what few need only when it is needed', () => {
    const wrong = modules.flatMap(({ path, imports }) =>
      imports
        .filter(({ from, kind }) => LOADED_LATE.includes(from) && kind === 'value')
        .map(({ from }) => `${path} imports ${from}`),
    );
    expect(wrong).toEqual([]);
  });
});

interface Import {
  readonly from: string;
  /** Of ours: its path below src. */
  readonly file?: string;
  readonly kind: 'type' | 'value' | 'late';
}

function importsOf(path: string, text: string): Import[] {
  const statements = [...text.matchAll(/^(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'/gm)].map(
    ([, type, from]): Import => ({ from: from!, kind: type === undefined ? 'value' : 'type' }),
  );
  const bare = [...text.matchAll(/^import\s+'([^']+)'/gm)].map(([, from]): Import => ({ from: from!, kind: 'value' }));
  const late = [...text.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g)].map(
    ([, from]): Import => ({ from: from!, kind: 'late' }),
  );
  return [...statements, ...bare, ...late].map((found) =>
    found.from.startsWith('.') ? { ...found, file: normalize(join(dirname(path), found.from)) } : found,
  );
}

function folderOf(path: string): string {
  return path.split('/')[0]!;
}

function rank(path: string): number {
  return FOLDERS.indexOf(folderOf(path));
}

function driverOf(path: string): string | undefined {
  return path.match(/^drivers\/([^/]+)\//)?.[1];
}

/** The first cycle that is found, as a path from a file back to itself. */
function cycleIn(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const next of graph.get(path) ?? []) {
      const cycle = visit(next, [...trail, path]);
      if (cycle !== undefined) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const path of graph.keys()) {
    const cycle = visit(path, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/** Without words in quotes, among which `process` is a driver; not without those that a pattern looks for. */
function withoutStrings(text: string): string {
  return text.replace(/"[^"\n]*"|'[^'\n]*'|`[^`$]*`/g, (found) =>
    /^'(node:)?(process|tty|console)'$|\/dev\/|inherit/.test(found) && found !== "'process'" ? found : "''",
  );
}

// By lines: a path with a star in a string looks like the beginning of a comment.
function withoutComments(text: string): string {
  return text.replace(/^\s*(\/\/|\/\*|\*).*$/gm, '');
}
