import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/package-root.ts';

/** Programs for `python3 -c` that run before the guest is installed, or without it. */
export type BootstrapProgram =
  | 'take_bundle'
  | 'from_memory'
  | 'compile_guest'
  | 'relay'
  | 'describe_interpreter'
  | 'list_packages';

/** The text of a program in `guest/bootstrap`. */
export function bootstrapProgram(name: BootstrapProgram): string {
  return readFileSync(join(packageRoot(), 'guest', 'bootstrap', `${name}.py`), 'utf8');
}
