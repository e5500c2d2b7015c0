import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { standardImageTag } from '../../src/drivers/docker/image.ts';

/** Images for one test file, made of the standard one. */
export interface CraftedImages {
  /** Builds an image with these lines of a Dockerfile. The files lie beside it. Returns its name. */
  build(name: string, lines: readonly string[], files?: Readonly<Record<string, string>>): string;
  remove(): void;
}

export function craftedImages(): CraftedImages {
  const made: string[] = [];
  return {
    build: (name, lines, files = {}) => {
      const folder = mkdtempSync(join(tmpdir(), 'hotcell-crafted-'));
      const tag = `hotcell-test-${name}-${process.pid}`;
      try {
        for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text, { mode: 0o755 });
        writeFileSync(join(folder, 'Dockerfile'), [`FROM ${standardImageTag()}`, 'USER 0', ...lines].join('\n'));
        buildImage(tag, folder);
        made.push(tag);
        return tag;
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    remove: () => {
      if (made.length > 0) docker('image', 'rm', '--force', ...made);
    },
  };
}

/**
 * Builds the image of a folder. Files that run at the same time share what they build first, such as `USER 0`: where another one removes its image in that
 * moment, the engine does not find the shared step, and the next attempt makes it anew.
 */
export function buildImage(tag: string, folder: string): void {
  for (let left = 3; left > 0; left -= 1) {
    try {
      docker('build', '--quiet', '--force-rm', '--network', 'none', '--tag', tag, folder);
      return;
    } catch (error) {
      if (left === 1 || !/unable to find image|no such image/i.test(String(error))) throw error;
    }
  }
}

export function docker(...args: string[]): string {
  const env = { ...process.env, DOCKER_BUILDKIT: '0' };
  return execFileSync('docker', args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}
