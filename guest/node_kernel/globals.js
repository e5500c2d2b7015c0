import childProcess from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import url from 'node:url';
import { importFromLayers, requireFromLayers } from './layers.js';

const { execFileSync } = childProcess;
const { statSync } = fs;
const { isAbsolute, join, resolve } = path;
const { fileURLToPath, pathToFileURL } = url;
const { create, defineProperty } = Object;

/**
 * What a program finds beside the language: `require` and `import` from the workspace, and `display`. Called when the boot script is over: Node then puts
 * back a `module` that was there before it.
 */
export function defineGlobals({ importer, display, calls }) {
  const folder = process.cwd();
  const filename = join(folder, 'session.js');
  const define = (name, value) =>
    defineProperty(globalThis, name, { configurable: true, enumerable: false, writable: true, value });
  requireFromLayers();
  const require = createRequire(filename);
  const module = {
    exports: {},
    id: '.',
    filename,
    loaded: false,
    children: [],
    paths: require.resolve.paths('x') ?? [],
  };
  // Programs ask whether they are the main one, in either way, before they do anything.
  require.main = module;
  process.argv = [process.argv[0], filename];
  define('require', require);
  define('module', module);
  define('exports', module.exports);
  define('__filename', filename);
  define('__dirname', folder);
  define('display', display);
  // For what stands on calls to the host; no program needs it by this name.
  define('__hotcellCalls', calls);
  // Names that rewritten `import` and `import.meta` stand for (syntax.js).
  define('__hotcellImport', createImport(importFromLayers(importer), folder));
  define('__hotcellMeta', {
    url: pathToFileURL(filename).href,
    filename,
    dirname: folder,
    main: true,
    resolve: (specifier) => pathToFileURL(require.resolve(specifier)).href,
  });
}

/**
 * `import` of a file that has changed since it was last imported loads it anew: who edits a module and imports it again wants the new one. `names` are those that
 * the statement asks for; the real one would not link without them.
 */
function createImport(importer, folder) {
  const versions = create(null);
  const newest = (specifier) => {
    const place = fileOf(specifier, folder);
    if (place === undefined) return specifier;
    const href = pathToFileURL(place).href;
    try {
      const changed = statSync(place).mtimeMs;
      versions[place] ??= changed;
      return versions[place] === changed ? href : `${href}?changed=${changed}`;
    } catch {
      return href;
    }
  };
  return async (specifier, options, names) => {
    const text = `${specifier}`;
    const namespace = await importer(newest(text), options).catch((error) => {
      throw placed(error, fileOf(text, folder));
    });
    for (const name of names ?? []) {
      if (!(name in namespace)) {
        throw new SyntaxError(`The requested module '${text}' does not provide an export named '${name}'`);
      }
    }
    return namespace;
  };
}

/** V8 does not say where in a module the syntax error is; Node does, when it only checks it. */
function placed(error, file) {
  if (!(error instanceof SyntaxError) || file === undefined) return error;
  try {
    execFileSync(process.execPath, ['--check', file], { stdio: ['ignore', 'ignore', 'pipe'], timeout: 5_000 });
  } catch (failure) {
    error.stack = `${`${failure.stderr ?? ''}`.split('\n\n')[0]}\n\n${error.stack}`;
  }
  return error;
}

function fileOf(specifier, folder) {
  if (/^\.{1,2}\//.test(specifier)) return resolve(folder, specifier);
  if (isAbsolute(specifier)) return specifier;
  return specifier.startsWith('file:') && !specifier.includes('?') ? fileURLToPath(specifier) : undefined;
}
