/**
 * Key in `_meta` under which a program finds the facts of a reply: ids, outcome, duration, files. A model does not see
 * them, and its text has all that it needs.
 */
export const RESULT_META = 'dev.hotcell/result';

/** Header of an HTTP request with which one client asks for structured content. */
export const STRUCTURED_HEADER = 'hotcell-structured-content';
