import { describe, expect, it } from 'vitest';
import { DRIVERS } from '../../drivers/registry.ts';
import type { Probe } from '../../sandbox/driver.ts';
import { whatAutoTakes } from './examine.ts';

const works = (driver: 'process' | 'docker' | 'gvisor') =>
  ({ driver, available: true, isolation: { driver, level: DRIVERS[driver].levels[0] } }) as Probe;
const fails = (driver: 'process' | 'docker' | 'gvisor'): Probe => ({
  driver,
  available: false,
  reason: `no ${driver}`,
  remedy: 'mend it',
});

describe('the choice of auto', () => {
  it('is the strongest driver that works, with the drivers that were passed over', () => {
    expect(whatAutoTakes([fails('gvisor'), works('docker'), works('process')], 'process')).toEqual({
      driver: 'docker',
      minIsolation: 'process',
      passedOver: [{ driver: 'gvisor', reason: 'no gvisor', remedy: 'mend it' }],
    });
  });

  it('is nothing below the requested minimum', () => {
    const { driver } = whatAutoTakes([fails('gvisor'), fails('docker'), works('process')], 'docker');
    expect(driver).toBeUndefined();
  });
});
