import { TARGETS } from '../support/targets.ts';
import { describeConformance } from './suite.ts';

// As most users have it.
await describeConformance({ ...TARGETS.shared, preloads: true });
