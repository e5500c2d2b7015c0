import { readFileSync } from 'node:fs';
import { env, stderr, stdout } from 'node:process';
import { pathToFileURL } from 'node:url';

/**
 * Runs command lines of the built program one after the other in this process: arguments are the program and a JSON file with a list of `{ args, env }`.
 * The program's entry is evaluated anew for each, what it imports is not. After each, the mark and the exit code follow on both outputs.
 */
const [, , program, file] = process.argv;
const { mark, commands } = JSON.parse(readFileSync(file, 'utf8'));
// Each command listens once, and is not alone here.
for (const emitter of [process, stdout, stderr]) emitter.setMaxListeners(0);

for (const [index, { args, env: more = {} }] of commands.entries()) {
  const before = { ...env };
  Object.assign(env, more);
  process.argv = [process.argv[0], program, ...args];
  process.exitCode = 0;
  await import(`${pathToFileURL(program).href}?${index}`);
  for (const name of Object.keys(more)) {
    if (before[name] === undefined) delete env[name];
    else env[name] = before[name];
  }
  // A terminal shows both.
  for (const stream of stdout.isTTY ? [stdout] : [stdout, stderr])
    await new Promise((resolve) => stream.write(`${mark} ${process.exitCode ?? 0}\n`, resolve));
}
process.exitCode = 0;
