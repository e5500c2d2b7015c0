// Given to `node --eval`: runs the kernel from the sealed memory file on descriptor 4, which no user code can change. `SIZES` are its parts' lengths.
// In a function: names at the top of this script would be the user's.
(() => {
  const { readSync } = require('node:fs');
  const { compileFunction } = require('node:vm');
  const program = {};
  let offset = 0;
  for (const [name, length] of Object.entries(SIZES)) {
    program[name] = { fd: 4, start: offset, length };
    offset += length;
  }
  const read = ({ fd, start, length }) => {
    const text = Buffer.alloc(length);
    for (let done = 0; done < length; ) done += readSync(fd, text, done, length - done, start + done);
    return text.toString('utf8');
  };
  // `import` here looks from the folder in which the kernel was started: the workspace.
  const importer = (specifier, options) => import(specifier, options);
  try {
    const main = compileFunction(read(program.main), ['require', 'kernel'], { filename: 'hotcell:main' });
    main(require, { importer, linkSource: read(program.link), program });
  } catch (error) {
    process._rawDebug(error.stack);
    process.kill(process.pid, 'SIGKILL');
  }
})();
