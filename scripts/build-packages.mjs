/**
 * What tests, checks and releases need, and the build does not: two thirds of the packages and most of their size. A
 * package that is missing here only costs time; `test/dependencies.test.ts` builds without these.
 */
const TOOLS = [
  ...['@anthropic-ai/mcpb', '@biomejs/biome', '@modelcontextprotocol/sdk', '@types/dockerode', '@types/node'],
  ...['@types/picomatch', '@types/pngjs', '@xterm/headless', 'fast-check', 'hyparquet', 'pngjs', 'recheck'],
  ...['typescript', 'unpdf', 'vitest'],
];

/** The package.json and package-lock.json of the packages that the build needs: a part of the whole, at the same versions. */
export function buildPackages(manifest, lock) {
  const wanted = Object.entries(manifest.devDependencies).filter(([name]) => !TOOLS.includes(name));
  const part = {
    name: manifest.name,
    version: manifest.version,
    dependencies: manifest.dependencies,
    devDependencies: Object.fromEntries(wanted),
  };
  const packages = { '': part };
  const ahead = [...Object.keys(part.dependencies ?? {}), ...Object.keys(part.devDependencies)].map((name) => [
    '',
    name,
  ]);
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const path = locate(lock.packages, ...next);
    if (path === undefined || path in packages) continue;
    const found = lock.packages[path];
    packages[path] = found;
    const needed = { ...found.dependencies, ...found.optionalDependencies, ...found.peerDependencies };
    ahead.push(...Object.keys(needed).map((name) => [path, name]));
  }
  return { manifest: part, lock: { ...lock, packages } };
}

/** Where Node finds a package from the folder of another. An optional one may be nowhere. */
function locate(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (path in packages) return path;
    if (folder === '') return undefined;
  }
}
