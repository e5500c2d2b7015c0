import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Trees of packages that a test makes by hand, as the builder of packages makes them. */
export interface LayerTrees extends Disposable {
  /** A folder with these files, by their paths. Those in `bin`, and in a `.bin` of Node, are programs. */
  make(files: Readonly<Record<string, string>>): string;
}

export function layerTrees(): LayerTrees {
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-layers-'));
  let made = 0;
  return {
    make: (files) => {
      made += 1;
      const tree = join(folder, String(made));
      for (const [path, text] of Object.entries(files)) {
        const file = join(tree, path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text);
        chmodSync(file, /(?:^|\/)\.?bin\//.test(path) ? 0o755 : 0o644);
      }
      return tree;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A console script as an installer writes it, with the interpreter of the sandbox. */
export function consoleScript(module: string, call: string): string {
  return `#!/usr/bin/env python3\nimport sys\nfrom ${module} import ${call}\nsys.exit(${call}())\n`;
}
