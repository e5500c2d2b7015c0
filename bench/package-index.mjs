import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { zipSync } from 'fflate';

/**
 * An index of Python packages on loopback (PEP 503), as a process of its own. Its packages are those that it finds in the folder of its first argument, named in
 * the others, each under a name with `bench-` before it, so that no sandbox has them already. Prints its port.
 */
const [folder, ...names] = process.argv.slice(2);
const wheels = new Map(names.map((name) => [`bench-${name}`, wheelOf(name)]));

createServer((request, response) => {
  const [, project] = /^\/simple\/([^/]+)\/$/.exec(request.url) ?? [];
  const [, file] = /^\/files\/([^/]+)$/.exec(request.url) ?? [];
  const wheel = project === undefined ? [...wheels.values()].find((one) => one.file === file) : wheels.get(project);
  if (wheel === undefined) response.writeHead(404).end();
  else if (project === undefined) response.writeHead(200).end(wheel.content);
  else response.writeHead(200, { 'content-type': 'text/html' }).end(page(wheel));
}).listen(0, '127.0.0.1', function listening() {
  process.stdout.write(`${this.address().port}\n`);
});

function page({ file, content }) {
  const hash = createHash('sha256').update(content).digest('hex');
  return `<!DOCTYPE html><a href="../../files/${file}#sha256=${hash}">${file}</a>`;
}

/** The installed files of a package as a wheel of another name: its modules are in a folder of that name. */
function wheelOf(name) {
  const info = readdirSync(folder).find((entry) => nameOf(entry) === name && entry.endsWith('.dist-info'));
  const version = info.slice(info.indexOf('-') + 1, -'.dist-info'.length);
  const module = `bench_${name.replaceAll('-', '_')}`;
  const needs = readFileSync(join(folder, info, 'METADATA'), 'utf8')
    .split('\n')
    .flatMap((line) => /^Requires-Dist: ([\w.-]+)[^;]*$/.exec(line)?.[1] ?? [])
    .map((need) => nameOf(`${need}-`))
    .filter((need) => names.includes(need));
  const files = { [`${module}/__init__.py`]: Buffer.from(`version = "${version}"\n`) };
  for (const line of readFileSync(join(folder, info, 'RECORD'), 'utf8').split('\n')) {
    const [path] = line.split(',');
    // The environment has no tests.
    if (!path.endsWith('.py') || !existsSync(join(folder, path))) continue;
    files[`${module}/${path}`] = readFileSync(join(folder, path));
  }
  const inside = `${module}-${version}.dist-info`;
  const head = ['Metadata-Version: 2.1', `Name: bench-${name}`, `Version: ${version}`];
  files[`${inside}/METADATA`] = Buffer.from(
    [...head, ...needs.map((need) => `Requires-Dist: bench-${need}`), ''].join('\n'),
  );
  files[`${inside}/WHEEL`] = Buffer.from('Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n');
  files[`${inside}/RECORD`] = Buffer.from(
    Object.keys(files)
      .map((path) => `${path},,\n`)
      .join(''),
  );
  return { file: `${module}-${version}-py3-none-any.whl`, content: Buffer.from(zipSync(files)) };
}

function nameOf(entry) {
  return entry
    .split('-')
    .slice(0, entry.endsWith('.dist-info') ? 1 : -1)
    .join('-')
    .toLowerCase()
    .replace(/[-_.]+/g, '-');
}
