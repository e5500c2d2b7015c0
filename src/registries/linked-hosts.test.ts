import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRule } from '../network/rules.ts';
import { linkedHosts } from './linked-hosts.ts';

const page = 'https://index.example/simple/pip/';

describe('the hosts that a page links to', () => {
  it('are those of its HTML links', () => {
    const html = `<a href="https://files.example/pip-1.tar.gz#sha256=a">pip-1</a> <A HREF='../../files/pip-2.whl'>pip-2</A>
      <a href=http://files.example:8080/pip-3.whl>3</a> <a href="ftp://old.example/x">x</a> <a href="mailto:a@b.example">b</a>`;
    expect(linkedHosts(html, page)).toEqual(['files.example', 'index.example', 'files.example:8080']);
  });

  it('are those of its files in JSON', () => {
    const json = JSON.stringify({ meta: {}, files: [{ url: 'https://files.example/a.whl' }, { url: '/b.whl' }] });
    expect(linkedHosts(json, page)).toEqual(['files.example', 'index.example']);
    expect(linkedHosts(JSON.stringify({ dist: { tarball: 'https://npm.example/npm.tgz' } }), page)).toEqual([
      'npm.example',
    ]);
  });

  it.each([
    ['of its own', ' href=/x'.repeat(500_000), ['index.example']],
    ['of one server', '<a href="https://f.example/x">'.repeat(130_000), ['f.example']],
    ['that are none', Array.from({ length: 300_000 }, (_, at) => ` href=//\x5b${at}`).join(''), []],
    ['in JSON', `{"files":[${'{"url":"x"},'.repeat(330_000)}{"url":"x"}]}`, ['index.example']],
  ])('are found without parsing hundreds of thousands of links: %s', (_, text, hosts) => {
    const begun = performance.now();
    expect(linkedHosts(text, page)).toEqual(hosts);
    // Parsing each took fifteen seconds.
    expect(performance.now() - begun).toBeLessThan(3000);
  });

  it('of links that only look relative are those that a parser finds', () => {
    const html = ['//a.example/x', '/\\\\b.example/x', 'https:\\\\c.example', 'https:d.example', 'HTTPS://e.example?x'];
    expect(linkedHosts(html.map((link) => `<a href="${link}">`).join(' '), page)).toEqual([
      ...new Set(html.map((link) => new URL(link, page).hostname)),
    ]);
  });

  it('are few', () => {
    const html = Array.from({ length: 1000 }, (_, at) => `<a href="https://h${at}.example/">x</a>`).join('');
    expect(linkedHosts(html, page)).toHaveLength(16);
  });

  it('are rules of a policy, whatever the page holds', () => {
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((address) => `[${address}]`),
      fc.string(),
    );
    const link = fc.oneof(
      fc.string(),
      fc.tuple(host, fc.nat(70_000)).map(([name, port]) => `http://${name}:${port}/`),
    );
    fc.assert(
      fc.property(fc.array(link, { maxLength: 5 }), (links) => {
        const html = links.map((each) => `<a href="${each}">`).join(' ');
        const json = JSON.stringify({ files: links.map((url) => ({ url })) });
        for (const found of [...linkedHosts(html, page), ...linkedHosts(json, page)]) {
          const { rule, denies } = parseRule(found);
          expect({ denies, subdomains: rule.subdomains }).toEqual({ denies: false, subdomains: false });
        }
      }),
    );
  });
});
