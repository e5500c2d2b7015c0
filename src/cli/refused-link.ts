import { readlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { HotcellError } from '../errors/hotcell-error.ts';
import { quotedName } from '../lib/said-inside.ts';
import type { OpenFolder } from './open-folder.ts';

export interface Told {
  readonly typed: string;
  /** Sentence that says what was not done. */
  readonly otherwise: string;
}

export function refusedLink(folder: OpenFolder, name: string, { typed, otherwise }: Told): HotcellError {
  const link = relative(process.cwd(), join(folder.path, name));
  const target = readlinkSync(folder.entry(name));
  const message = `${typed}: ${quotedName(link)} is a symbolic link, which is not followed here`;
  return new HotcellError('invalid_argument', `${message}. ${otherwise}`, {
    remedy: `Choose another path, or name the target of the link, if that is what you want: ${quotedName(target)}`,
  });
}
