import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';

/** Calls `onIdle` once nothing has moved for so long. `moved` is cheap: it sets no timer. */
export function createIdleTimer({ clock, idleMs }: { clock: Clock; idleMs: number }, onIdle: () => void): IdleTimer {
  let movedAt = clock.now();
  let cancel = clock.after(idleMs, check);
  function check(): void {
    const left = movedAt + idleMs - clock.now();
    if (left <= 0) onIdle();
    else cancel = clock.after(left, check);
  }
  return {
    moved: () => {
      movedAt = clock.now();
    },
    cancel: () => cancel(),
  };
}

export interface IdleTimer {
  moved(): void;
  cancel(): void;
}

/** Destroys a stream that has a reader already once nothing has moved on it for so long, unless it is busy then. The returned function cancels that. */
export function destroyWhenIdle(
  stream: Duplex,
  options: { clock: Clock; idleMs: number; isBusy: () => boolean },
): () => void {
  const start = () =>
    createIdleTimer(options, () => {
      if (options.isBusy()) timer = start();
      else stream.destroy();
    });
  let timer = start();
  const moved = () => timer.moved();
  stream.on('data', moved).on('drain', moved);
  return () => timer.cancel();
}
