import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/package-root.ts';

/** Programs of Python that run before the guest is installed, or without it: by `python3 -c`, or as files of layers. */
export type BootstrapProgram =
  | 'take_bundle'
  | 'from_memory'
  | 'compile_guest'
  | 'relay'
  | 'describe_interpreter'
  | 'list_packages'
  | 'describe_base'
  | 'pack_tree'
  | 'wheel_metadata'
  | 'run_installer'
  | 'site_customize';

/** The text of a program in `guest/bootstrap`. */
export function bootstrapProgram(name: BootstrapProgram): string {
  return readFileSync(join(packageRoot(), 'guest', 'bootstrap', `${name}.py`), 'utf8');
}
