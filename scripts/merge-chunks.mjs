import { dirname, join, relative } from 'node:path/posix';

/**
 * Merges chunks that are loaded together: Node takes longer to find and open fifty small modules than to compile them.
 * A group is a file name and the entries (by their source) that load it; a shared chunk goes to the first group whose
 * entries all reach it without a dynamic import. Entries stay separate files. Returns the files to write: path relative
 * to the output folder → text.
 */
export async function mergeChunks({ outputFiles, metafile }, { root, outdir, groups, build }) {
  const files = new Map(outputFiles.map(({ path, text }) => [relative(join(root, outdir), path), text]));
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [relative(outdir, path), output]));
  const homes = homesOf(outputs, { outdir, groups });
  const merged = new Map();
  for (const home of Object.keys(groups)) {
    const names = [...homes].filter(([, other]) => other === home).map(([name]) => name);
    if (names.length > 0) merged.set(home, await mergedText(names, { files, outputs, homes, build }));
  }
  for (const [name, text] of files) if (!homes.has(name)) merged.set(name, redirected(name, text, homes));
  return merged;
}

/** Maps each shared chunk to the file of its group. */
function homesOf(outputs, { outdir, groups }) {
  const homes = new Map();
  const entryOf = (source) => [...outputs].find(([, { entryPoint }]) => entryPoint === source)?.[0];
  for (const [home, sources] of Object.entries(groups)) {
    const reached = sources.map((source) => reachedFrom(entryOf(source), outputs, outdir));
    const [first, ...others] = reached;
    for (const name of first) {
      const isShared = outputs.get(name).entryPoint === undefined && others.every((other) => other.has(name));
      if (isShared && !homes.has(name)) homes.set(name, home);
    }
  }
  return homes;
}

function reachedFrom(name, outputs, outdir, reached = new Set()) {
  if (name === undefined || reached.has(name)) return reached;
  reached.add(name);
  for (const { path, kind, external } of outputs.get(name).imports) {
    if (kind === 'import-statement' && !external) reachedFrom(relative(outdir, path), outputs, outdir, reached);
  }
  return reached;
}

async function mergedText(names, { files, outputs, homes, build }) {
  const home = homes.get(names[0]);
  const elsewhere = new Map([...homes].filter(([, other]) => other !== home));
  const chunks = {
    name: 'chunks',
    setup(plugin) {
      plugin.onResolve({ filter: /.*/ }, ({ path, importer, kind }) => {
        const target = importer === '<stdin>' ? path : join(dirname(importer), path);
        const isMember = kind === 'import-statement' && names.includes(target);
        return isMember ? { path: target, namespace: 'chunk' } : { path, external: true };
      });
      plugin.onLoad({ filter: /.*/, namespace: 'chunk' }, ({ path }) => ({
        contents: redirected(path, files.get(path), elsewhere),
      }));
    },
  };
  const exported = names.map((name) => {
    const list = outputs.get(name).exports.map((symbol) => `${symbol} as ${qualified(name, symbol)}`);
    return list.length === 0 ? `import '${name}';` : `export { ${list.join(', ')} } from '${name}';`;
  });
  const { outputFiles } = await build({
    stdin: { contents: exported.join('\n'), sourcefile: '<stdin>' },
    plugins: [chunks],
    ...{ bundle: true, write: false, format: 'esm', platform: 'node', target: 'node20.19', logLevel: 'warning' },
  });
  return outputFiles[0].text;
}

/** An import of one chunk in another, as esbuild writes it. */
const CHUNK_IMPORT = /^import (?:\{([^}]*)\} from )?"(\.[^"]+)";$/gm;

/** The text of a file whose imports of merged chunks lead to their new files. */
function redirected(name, text, homes) {
  return text.replace(CHUNK_IMPORT, (statement, symbols, path) => {
    const target = join(dirname(name), path);
    const home = homes.get(target);
    if (home === undefined) return statement;
    const found = relative(dirname(name), home);
    const from = found.startsWith('.') ? found : `./${found}`;
    if (symbols === undefined) return `import "${from}";`;
    const list = symbols.split(',').map((symbol) => {
      const [theirs, ours = theirs] = symbol.trim().split(' as ');
      return `${qualified(target, theirs)} as ${ours}`;
    });
    return `import { ${list.join(', ')} } from "${from}";`;
  });
}

/** Two chunks may export the same name, so the chunk's name is added. */
function qualified(chunk, symbol) {
  return `${chunk.replaceAll(/[^A-Za-z0-9]/g, '_')}$${symbol}`;
}
