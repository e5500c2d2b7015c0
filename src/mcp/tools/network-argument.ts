import * as z from 'zod';

/** The network of a session, in tools. It is listed as a list; one word or rule alone is taken, too. */
export const networkArgument = z.preprocess(
  (given) => (typeof given === 'string' ? [given] : given),
  z.array(z.string().max(300)).max(100),
);
