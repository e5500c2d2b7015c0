/** The variable that names further certificate authorities. Node reads the whole file at every start. */
const OF_NODE = 'NODE_EXTRA_CA_CERTS';
const SET_ASIDE = 'HOTCELL_TEST_EXTRA_CA_CERTS';

/**
 * Sets the further authorities aside, where a machine has some: to read them takes several times as long as all else
 * that a start of Node does, and the tests start Node thousands of times on programs that talk to this machine alone.
 */
export function withoutExtraCertificates({ [OF_NODE]: file, ...env }) {
  return file === undefined ? env : { ...env, [SET_ASIDE]: file };
}

/** The environment for a program of Node that downloads. */
export function withExtraCertificates({ [SET_ASIDE]: file, ...env }) {
  return file === undefined ? env : { ...env, [OF_NODE]: file };
}
