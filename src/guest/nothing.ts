import * as z from 'zod';

/** Result of requests that return nothing. Apart from the other messages, which are read once a guest answers. */
export const nothing = z.object({});
