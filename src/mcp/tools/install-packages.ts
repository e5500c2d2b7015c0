import * as z from 'zod';
import { requireInstallRight } from '../../directory/managed-packages.ts';
import { type Installation, MANAGERS, type VersionedPackage } from '../../sessions/installation.ts';
import { defineTool } from '../define-tool.ts';
import { sessionArgument } from './session-argument.ts';

const versioned = z.object({ name: z.string(), version: z.string() });

export const installPackages = defineTool({
  name: 'install_packages',
  title: 'Install packages',
  description: `Installs Python (pip) or Node (npm) packages into a session; its code can import them at once. They come from the user's registries and are built in another sandbox, so the session needs no network. numpy, pandas, matplotlib, requests and many more are there already.

  {"packages": ["httpx", "rich>=13,<15"]}
  {"packages": ["./dist/mine-1.0-py3-none-any.whl"]}   a wheel or project folder of the workspace
  {"packages": ["left-pad@^1"], "manager": "npm"}`,
  input: z.strictObject({
    packages: z
      .array(z.string().max(500))
      .min(1)
      .max(200)
      .describe('Names, with versions if needed. No options or URLs'),
    manager: z.enum(MANAGERS).default('pip'),
    upgrade: z.boolean().optional().describe('Resolve again: otherwise versions are kept for a day'),
    session_id: sessionArgument,
  }),
  output: z.object({
    session_id: z.string(),
    installed: z.array(versioned).describe('Packages that the session got, including dependencies'),
    present: z.array(versioned).describe('Packages that it had already'),
    superseded: z.array(z.object({ name: z.string(), from: z.string(), to: z.string() })),
    needs_reset: z.boolean().describe('Whether reset_session makes superseded packages effective'),
    duration_ms: z.number(),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  needsInstalling: true,
  isLong: true,
  async handler({ packages, manager, upgrade, session_id }, call) {
    const { directory, owner } = call.deps;
    const managed = await directory.use(owner, session_id, {
      ...{ signal: call.signal, via: 'install_packages' },
      check: () => requireInstallRight(owner), // before a session is opened for it
    });
    let step = 'resolving';
    call.reportWith(() => step);
    const done = await managed.session.install(packages, {
      manager,
      signal: call.signal,
      ...(upgrade === undefined ? {} : { upgrade }),
      onProgress: (text) => {
        step = text;
      },
    });
    const { installed, present, superseded, needsReset, durationMs } = done;
    return {
      structured: {
        ...{ session_id: managed.id, installed: [...installed], present: [...present], superseded: [...superseded] },
        ...{ needs_reset: needsReset, duration_ms: Math.round(durationMs) },
      },
      content: [{ type: 'text', text: installationText(done) }],
    };
  },
});

/** The result of an installation, for a model. */
export function installationText({ installed, present, superseded, needsReset }: Installation): string {
  const named = (packages: readonly VersionedPackage[]) =>
    packages.map(({ name, version }) => `${name} ${version}`).join(', ');
  return [
    ...(installed.length === 0 ? [] : [`Installed ${named(installed)}.`]),
    ...(present.length === 0 ? [] : [`Already there: ${named(present)}.`]),
    ...superseded.map(({ name, from, to }) => `${name} ${to} replaces ${from}.`),
    ...(needsReset ? ['If code has imported these already, reset_session makes the new versions effective.'] : []),
  ].join(' ');
}
