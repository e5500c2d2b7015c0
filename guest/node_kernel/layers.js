/**
 * Packages of layers, which may come while the kernel lives. From some version on, Node remembers for ever that a package is not in a folder, so that it
 * would never find one that was asked for too early. It is then looked for in its layer, where it was never missed.
 */
import fs from 'node:fs';
import Module from 'node:module';
import process from 'node:process';
import vm from 'node:vm';

const { realpathSync } = fs;
const { compileFunction, constants } = vm;

const NODE_MODULES = '/node_modules/';
const PACKAGE = /^(?:@[^/]+\/)?[^@./][^/:]*(?=\/|$)/;

/** Lets every `require` of this process find such a package. */
export function requireFromLayers() {
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (request, parent, ...rest) {
    try {
      return resolve.call(this, request, parent, ...rest);
    } catch (error) {
      const layer = error?.code === 'MODULE_NOT_FOUND' ? layerWith(request) : undefined;
      if (layer === undefined) throw error;
      return resolve.call(
        this,
        request,
        { id: layer, filename: `${layer}/session.js`, paths: [layer + NODE_MODULES] },
        ...rest,
      );
    }
  };
}

/** An `import` that finds such a package. */
export function importFromLayers(importer) {
  return async (specifier, options) => {
    try {
      return await importer(specifier, options);
    } catch (error) {
      const layer = error?.code === 'ERR_MODULE_NOT_FOUND' ? layerWith(specifier) : undefined;
      if (layer === undefined) throw error;
      return await withoutWarning(() => importerIn(layer)(specifier, options));
    }
  };
}

/** An `import` that looks from another folder. */
function importerIn(folder) {
  return compileFunction('return import(specifier, options)', ['specifier', 'options'], {
    filename: `${folder}/session.js`,
    importModuleDynamically: constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

/** Node warns once that this way is experimental, which does not concern the program whose output it would be in. */
async function withoutWarning(work) {
  const { emitWarning } = process;
  const filtered = (warning, ...rest) => {
    if (!`${warning}`.includes('USE_MAIN_CONTEXT_DEFAULT_LOADER')) emitWarning.call(process, warning, ...rest);
  };
  process.emitWarning = filtered;
  try {
    return await work();
  } finally {
    if (process.emitWarning === filtered) process.emitWarning = emitWarning;
  }
}

/** The newest layer with a package; undefined for what is no name of a package, or of none that a layer has. */
function layerWith(request) {
  const name = PACKAGE.exec(request)?.[0];
  if (name === undefined) return undefined;
  try {
    const place = realpathSync(NODE_MODULES + name);
    const end = place.indexOf(NODE_MODULES);
    return end > 0 ? place.slice(0, end) : undefined;
  } catch {
    return undefined;
  }
}
