import { TARGETS } from '../support/targets.ts';
import { describeConformance } from './suite.ts';

await describeConformance(TARGETS.single);
