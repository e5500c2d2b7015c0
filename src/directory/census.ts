import type { SessionState } from '../execution/session-state.ts';
import type { Entry } from './openings.ts';

/** Number of sessions in one state under one driver. */
export interface CensusCount {
  readonly state: SessionState;
  readonly driver: string;
  readonly count: number;
}

/** Counts sessions by state and driver. A session that is still opening counts under the requested isolation. */
export function censusOf(entries: readonly Entry[]): readonly CensusCount[] {
  const counts = new Map<string, CensusCount>();
  for (const { session, isolation } of entries) {
    const state = session?.state() ?? 'opening';
    const driver = session?.driver ?? isolation;
    const count = counts.get(`${state} ${driver}`)?.count ?? 0;
    counts.set(`${state} ${driver}`, { state, driver, count: count + 1 });
  }
  return [...counts.values()];
}
