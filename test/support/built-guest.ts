/** The guest has parts that are bundled: sandboxes of the tests get those of this checkout, whether or not it was built. */
export default async function buildGuest(): Promise<void> {
  // @ts-expect-error a script of the build, which has no types
  const { buildNodeKernel } = await import('../../scripts/node-kernel.mjs');
  await buildNodeKernel();
}
