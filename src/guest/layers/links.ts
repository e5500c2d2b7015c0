import { LAYERS } from '../../sandbox/layers.ts';
import { INSTALLER_PROGRAMS } from './installer-files.ts';
import type { LayerEntry } from './tree.ts';

/** A symbolic link beside the layers, at `path` relative to their folder: what all layers have together. */
export interface SharedLink {
  readonly path: string;
  readonly target: string;
}

/**
 * Programs by whose names kernels are started, and the first lines of scripts. A package that brings another one must
 * not replace it.
 */
const KEPT_PROGRAMS = /^(?:python[\d.]*|node|bash|sh|env)$/;

/**
 * The links that a new layer adds to those of earlier ones, or replaces: its programs in `bin`, which is on the PATH,
 * and its packages for Node in `node_modules`. Node resolves a link before it looks for what the package itself needs,
 * so a package finds those of its own layer. With `hasInstaller`, our `pip`, `uv` and `npm` stay: they start one that a
 * layer brings for what they do not do themselves.
 */
export function sharedLinks(
  name: string,
  entries: Iterable<LayerEntry>,
  { hasInstaller }: { hasInstaller: boolean },
): SharedLink[] {
  const ours: readonly string[] = hasInstaller ? INSTALLER_PROGRAMS : [];
  const links: SharedLink[] = [];
  for (const { kind, path } of entries) {
    const program = /^(?:bin|node_modules\/\.bin)\/([^/]+)$/.exec(path)?.[1];
    if (program !== undefined) {
      if (kind !== 'folder' && !KEPT_PROGRAMS.test(program) && !ours.includes(program))
        links.push({ path: `bin/${program}`, target: `../${name}/${path}` });
    } else if (kind !== 'file' && /^node_modules\/(?:[^@./][^/]*|@[^/]+\/[^./][^/]*)$/.test(path)) {
      // Absolute, because a container has this folder at another path as well.
      links.push({ path, target: `${LAYERS}/${name}/${path}` });
    }
  }
  return links;
}
