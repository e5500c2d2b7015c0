import type { Container } from 'dockerode';
import { newId } from '../../lib/ids.ts';
import { containerName, emptyLabels, LABELS } from './container-config.ts';
import type { EngineConnector } from './engine.ts';
import type { ImageDescription } from './engine-image.ts';
import { containerFiles, type ImageFile, type ImageFiles } from './image-files.ts';

export interface ImageLooksOptions {
  readonly engine: EngineConnector;
  readonly installationId: string;
  readonly serverId: string;
  /** Removes a container by its name. */
  readonly remove: (name: string) => Promise<void>;
}

/** Reads files of images. Results are cached by image id, because the files behind an id never change. */
export interface ImageLooks {
  look<T>(image: ImageDescription, signal: AbortSignal, review: (files: ImageFiles) => Promise<T>): Promise<T>;
}

const MOST_IMAGES = 32;
const MOST_FILES = 1_000;

interface Seen {
  readonly files: Map<string, ImageFile | undefined>;
  readonly contents: Map<string, Buffer>;
  readonly empty: Map<string, boolean>;
}

export function createImageLooks(options: ImageLooksOptions): ImageLooks {
  const images = new Map<string, Seen>();

  function seenOf(id: string): Seen {
    let seen = images.get(id);
    // The cache is bounded, because callers choose mount targets and so the paths that are read.
    if (seen === undefined || seen.files.size > MOST_FILES)
      seen = { files: new Map(), contents: new Map(), empty: new Map() };
    images.delete(id);
    images.set(id, seen);
    const [oldest] = images.keys();
    if (images.size > MOST_IMAGES && oldest !== undefined) images.delete(oldest);
    return seen;
  }

  return {
    look: async (image, signal, review) => {
      const seen = seenOf(image.id);
      const name = containerName(newId('look'));
      let created: Promise<Container> | undefined;
      const container = () => {
        created ??= createUnstarted(options, image, name);
        return created;
      };
      const files = containerFiles(container, signal);
      try {
        return await review({
          at: (path) => remembered(seen.files, path, files.at),
          read: (path) => remembered(seen.contents, path, files.read),
          isEmpty: (path) => remembered(seen.empty, path, files.isEmpty),
        });
      } finally {
        if (created !== undefined) await created.catch(() => {}).then(() => options.remove(name));
      }
    },
  };
}

async function remembered<T>(seen: Map<string, T>, path: string, ask: (path: string) => Promise<T>): Promise<T> {
  if (seen.has(path)) return seen.get(path) as T;
  const answer = await ask(path);
  seen.set(path, answer);
  return answer;
}

/**
 * Creates a container without starting it. It carries the labels of sandboxes, so that the next server finds and
 * removes it if this one dies.
 */
function createUnstarted(options: ImageLooksOptions, image: ImageDescription, name: string): Promise<Container> {
  const { engine, installationId, serverId } = options;
  const config = {
    Image: image.id,
    Entrypoint: [],
    Cmd: ['python3'],
    Labels: {
      ...emptyLabels(image),
      [LABELS.installation]: installationId,
      [LABELS.server]: serverId,
      [LABELS.sandbox]: name.slice(containerName('').length),
      [LABELS.persistent]: 'false',
    },
    HostConfig: {
      NetworkMode: 'none',
      // Without this the engine creates a folder on its disk for each volume.
      Tmpfs: Object.fromEntries(image.volumes.map((path) => [path, ''])),
    },
  };
  return engine.ask('look at an image', ({ docker }) =>
    docker.createContainer({ _query: { name }, _body: config, abortSignal: AbortSignal.timeout(30_000) } as never),
  );
}
