import { describe, expect, it } from 'vitest';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { createFailedStarts } from './failed-starts.ts';

describe('an image whose container was created and could not be started', () => {
  const failure = new HotcellError('engine_failed', 'OCI runtime start failed: starting container');

  it('is refused to that owner for a while, and not to other owners', () => {
    let now = 0;
    const failed = createFailedStarts(() => now);
    failed.note({ owner: 'ann' }, 'sha256:1', failure);
    expect(() => failed.refuse({ owner: 'ann' }, 'sha256:1')).toThrow(/a few minutes ago/);
    failed.refuse({ owner: 'bob' }, 'sha256:1');
    failed.refuse({ owner: 'ann' }, 'sha256:2');
    now = 600_000;
    failed.refuse({ owner: 'ann' }, 'sha256:1');
  });

  it('is not refused after other failures, nor is the standard image', () => {
    const failed = createFailedStarts();
    failed.note({ owner: 'ann' }, 'sha256:1', new HotcellError('engine_failed', 'OCI runtime create failed'));
    failed.note({ owner: 'ann' }, undefined, failure);
    failed.refuse({ owner: 'ann' }, 'sha256:1');
  });
});
