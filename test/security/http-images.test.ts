import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localOwner } from '../../src/directory/owner.ts';
import { standardImageTag } from '../../src/drivers/docker/image.ts';
import { ERROR_META } from '../../src/mcp/present/error-result.ts';
import { type ServedHotcell, serveForTest, toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.docker);
const PRIVATE = `hotcell-test-private-${process.pid}`;
const ALLOWED = `hotcell-test-allowed-${process.pid}`;
const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8' }).trim();

describe.skipIf(skipped !== undefined)('the images of the engine', () => {
  let hotcell: ServedHotcell;
  let token = '';
  let id = '';
  beforeAll(async () => {
    docker('tag', standardImageTag(), ALLOWED);
    // An image of its own: its id is not that of an image that may be opened.
    const made = docker('create', '--label', `of=${PRIVATE}`, standardImageTag(), 'true');
    docker('commit', '--message', PRIVATE, made, PRIVATE);
    docker('rm', made);
    id = docker('image', 'inspect', '--format', '{{.Id}}', PRIVATE);
    const options = { ...TARGETS.docker.options, allowedImages: ['hotcell-test-allowed-*'] };
    hotcell = await serveForTest({ tokens: 'auto', ...options }, async (store) => {
      token = (await store.create('ada')).text;
    });
  });
  afterAll(async () => {
    await hotcell?.[Symbol.asyncDispose]();
    docker('image', 'rm', '--force', PRIVATE, ALLOWED);
  });

  // biome-ignore lint/suspicious/noExplicitAny: the tests know what a tool answers with
  async function open(image: string, who: { token?: string }): Promise<any> {
    const { body } = await hotcell.send('POST', '/mcp', { ...toolCall('open_session', { image }), ...who });
    return JSON.parse(/^data: (.*)$/m.exec(body.toString())?.[1] ?? body.toString()).result;
  }

  it.each(['with a token', 'without tokens'])(
    'are not open to a caller %s, who does not learn which there are',
    async (how) => {
      const who = how === 'with a token' ? { token } : {};
      const never = 'hotcell-test-never-was';
      const refusal = (await open(never, who))._meta[ERROR_META];
      expect(refusal).toMatchObject({ code: 'image_denied', remedy: expect.stringContaining('Omit image') });
      const spellings = [PRIVATE, `${PRIVATE}:latest`, `docker.io/library/${PRIVATE}`, `docker.io/${PRIVATE}:latest`];
      const ids = [id, id.slice('sha256:'.length), id.slice('sha256:'.length, 19), `${PRIVATE}@${id}`];
      for (const image of [...spellings, ...ids]) {
        const { isError, _meta } = await open(image, who);
        expect(isError, image).toBe(true);
        expect(JSON.stringify(_meta[ERROR_META]).replaceAll(image, never)).toBe(JSON.stringify(refusal));
      }
      // The name is allowed, the contents are another's: the engine has no such image.
      expect((await open(`${ALLOWED}@${id}`, who))._meta[ERROR_META].code).toBe('image_missing');
      expect(hotcell.server.sessions.census()).toEqual([]);
    },
  );

  it('are open as far as they are allowed, however they are spelled', async () => {
    for (const image of [ALLOWED, `docker.io/library/${ALLOWED}:latest`, standardImageTag()]) {
      const { structuredContent, _meta } = await open(image, { token });
      expect(structuredContent?.isolation, JSON.stringify(_meta)).toBeDefined();
      await hotcell.send('POST', '/mcp', {
        ...toolCall('close_session', { session_id: structuredContent.session_id }),
        token,
      });
    }
  });

  it('are all open to the local owner', async () => {
    const local = localOwner(hotcell.server.config);
    const session = await hotcell.server.sessions.open(local, { image: PRIVATE });
    expect((await session.run('6 * 7').result).value?.text).toBe('42');
    await hotcell.server.sessions.closeAll(local);
  });
});
