import type { Architecture } from '../../sandbox/seccomp.ts';

/** The line that the guest's bootstrap sends before the protocol begins (guest/bootstrap/from_memory.py). */
export interface ReadyLine {
  /** The image's search path. */
  readonly path: string;
  readonly architecture: Architecture | undefined;
  /** The kernel release as seen inside the sandbox. */
  readonly kernel: string;
  /** Whether the image's Python finds layers by itself. */
  readonly findsLayers: boolean;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = { x86_64: 'x64', aarch64: 'arm64' };

/** SECURITY: an image may be hostile, so the line is validated and accepted only with the expected types. */
export function parseReadyLine(line: string): ReadyLine | undefined {
  try {
    const { hotcell, path, machine, kernel, layers } = JSON.parse(line) as Record<string, unknown>;
    if (hotcell !== 1 || typeof path !== 'string' || typeof machine !== 'string' || typeof kernel !== 'string') {
      return undefined;
    }
    return { path, architecture: ARCHITECTURES[machine], kernel, findsLayers: layers === true };
  } catch {
    return undefined;
  }
}
