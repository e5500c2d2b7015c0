import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import type { ExecutionResult, OpenOptions, Session } from '../../../src/index.ts';
import { packageRoot } from '../../../src/lib/package-root.ts';
import { requireAll, type Target } from '../../support/targets.ts';
import { toolsImage } from '../../support/tools-image.ts';
import type { Context, Requirement } from '../context.ts';

const MiB = 1_048_576;
const BARE = { bare: 'runs whatever this host has; proved on every real driver' };

/** A program of test/conformance/programs, and what must be there when it has run. */
interface Program {
  readonly language: string;
  readonly file: string;
  readonly title: string;
  /** What it says when its input is not there. */
  readonly complaint: RegExp;
  readonly artifacts: readonly string[];
  /** Not in the image with compilers, which would take minutes to make with all of them. */
  readonly notInImage?: boolean;
}

const PROGRAMS: readonly Program[] = [
  {
    language: 'bash',
    file: 'report.sh',
    title: 'bash, with awk and jq',
    complaint: /sales\.csv/,
    artifacts: ['report-bash.json'],
  },
  {
    language: 'c-zlib',
    file: 'report.c',
    title: 'C, with zlib',
    complaint: /sales\.csv: No such file/,
    artifacts: ['report-c.txt.gz'],
  },
  {
    language: 'perl',
    file: 'report.pl',
    title: 'Perl, with Text::CSV',
    complaint: /sales\.csv: No such file/,
    artifacts: ['report-perl.json'],
  },
  {
    language: 'ruby',
    file: 'report.rb',
    title: 'Ruby, with the gem mustache',
    complaint: /sales\.csv.*report\.rb:\d+/s,
    artifacts: ['report-ruby.html'],
  },
  {
    language: 'r',
    file: 'report.R',
    title: 'R, with jsonlite',
    complaint: /sales\.csv/,
    artifacts: ['report-r.json', 'report-r.pdf'],
  },
  {
    language: 'cpp',
    file: 'report.cpp',
    title: 'C++, with nlohmann/json',
    complaint: /sales\.csv cannot be opened/,
    artifacts: ['report-cpp.json'],
    notInImage: true,
  },
  {
    language: 'go',
    file: 'report.go',
    title: 'Go, with yaml.v3',
    complaint: /open sales\.csv: no such file/,
    artifacts: ['report-go.yaml.gz'],
    notInImage: true,
  },
  {
    language: 'rust',
    file: 'report.rs',
    title: 'Rust, with zlib: crates come from the network',
    complaint: /report\.rs:\d+|sales\.csv cannot be read/,
    artifacts: ['report-rust.txt'],
    notInImage: true,
  },
  {
    language: 'java',
    file: 'Report.java',
    title: 'Java, with Gson',
    complaint: /NoSuchFileException: sales\.csv.*Report\.java:\d+/s,
    artifacts: ['report-java.json.gz'],
    notInImage: true,
  },
];

const SALES = 'region,amount\nnorth,10.5\nsouth,3.25\nnorth,1.5\nwest,7\nsouth,0.75\n';
const TOTALS = 'north 12.00\nsouth 4.00\nwest 7.00\n';

export const recipeRequirements: readonly Requirement[] = [
  ...PROGRAMS.map(programRequirement),
  {
    id: 'recipe:compile-error',
    tag: 'guest',
    title: 'source that cannot be built is raised as CompileError with file and line; the session goes on',
    exempt: BARE,
    prove: async (context) => {
      const session = await context.fresh(withTools(context.target));
      const broken = 'int main(void) {\n  int count = 1;\n  return cuont;\n}\n';
      const { outcome, state } = await session.run(broken, { language: 'c', filename: 'count.c' });
      expect(outcome).toMatchObject({ kind: 'raised', name: 'CompileError' });
      if (outcome.kind !== 'raised') return;
      expect(outcome.message).toMatch(/^count\.c:3:\d+: error: .*cuont/);
      expect(outcome.traceback.join('\n')).toContain('return cuont;');
      expect(state).toBe('kept');
      expect((await session.run(broken.replace('cuont', 'count'), { language: 'c' })).outcome).toEqual({
        kind: 'exited',
        exitCode: 1,
      });
    },
  },
  {
    id: 'recipe:workspace',
    tag: 'guest',
    title: 'a program runs in the workspace and finds headers there; what is built lies elsewhere and is no artifact',
    exempt: BARE,
    prove: async (context) => {
      const session = await context.fresh(withTools(context.target));
      await session.files.write('answer.h', '#define ANSWER 42\n');
      const code =
        '#include <stdio.h>\n#include "answer.h"\nint main(void) { printf("%d\\n", ANSWER); fclose(fopen("out.txt", "w")); return 0; }';
      const first = await session.run(code, { language: 'c' });
      expect(first).toMatchObject({ outcome: { kind: 'ok' }, stdout: '42\n', stderr: '' });
      expect(first.artifacts.map(({ path }) => path)).toEqual(['out.txt']);
      // Built once: the same source again only runs.
      const again = await session.run(code, { language: 'c' });
      expect(again).toMatchObject({ outcome: { kind: 'ok' }, stdout: '42\n' });
      expect(again.cpuMs).toBeLessThan(first.cpuMs);
      const { entries } = await session.files.list('.', { recursive: true });
      expect(entries.map(({ path }) => path).sort()).toEqual(['answer.h', 'out.txt']);
    },
  },
  {
    id: 'recipe:go-modules',
    tag: 'guest',
    title:
      'Go with its standard library alone keeps the behaviour of its version; an import that nobody installed is named',
    exempt: BARE,
    prove: async (context) => {
      const session = await context.fresh(withTools(context.target));
      const run = (code: string) => session.run(code, { language: 'go', timeoutMs: 60_000 });
      const info =
        'package main\nimport (\n"fmt"\n"runtime/debug"\n)\nfunc main() {\ninfo, _ := debug.ReadBuildInfo()\nfor _, one := range info.Settings { fmt.Println(one.Key) }\n}';
      const alone = await run(info);
      if (alone.outcome.kind === 'unavailable') {
        expect(context.target.options.isolation !== 'process' || !requireAll(), alone.outcome.hint).toBe(true);
        return;
      }
      expect(alone.outcome, alone.stderr).toEqual({ kind: 'ok' });
      expect(alone.stdout).toContain('GOOS');
      expect(alone.stdout).not.toContain('DefaultGODEBUG');
      const missing = await run('package main\nimport "example.org/nobody/has"\nfunc main() { has.It() }');
      expect(missing.outcome).toMatchObject({ kind: 'raised', name: 'CompileError' });
      if (missing.outcome.kind === 'raised')
        expect(missing.outcome.message).toMatch(/^main\.go:2:8: .*example\.org\/nobody\/has/);
    },
  },
  {
    id: 'recipe:time-limit',
    tag: 'guest',
    title: 'the time limit covers building and running, and ends what ignores SIGINT and what it left behind',
    exempt: BARE,
    prove: async (context) => {
      const session = await context.fresh(withTools(context.target));
      const run = (code: string, timeoutMs: number) => session.run(code, { language: 'c', timeoutMs });
      // Includes itself until the compiler's own limit, two hundred levels deep, each twice.
      await session.files.write('deep.h', '#include "deep.h"\n#include "deep.h"\n');
      const building = await run('#include "deep.h"\nint main(void) { return 0; }', 500);
      expect(building).toMatchObject({ outcome: { kind: 'timed-out', limitMs: 500 }, state: 'kept' });
      const ignoring =
        '#include <signal.h>\n#include <unistd.h>\nint main(void) {\n  signal(SIGINT, SIG_IGN);\n  if (fork() == 0) { setsid(); }\n  for (;;) ;\n}';
      const startedAt = performance.now();
      expect(await run(ignoring, 2_500)).toMatchObject({ outcome: { kind: 'timed-out' }, state: 'kept' });
      expect(performance.now() - startedAt).toBeLessThan(7_500);
      // Killed they are; on a busy machine dying takes its time.
      const left = await session.run(
        'for _ in {1..30}; do left=$(grep -lz "/program$" /proc/[0-9]*/cmdline); [ -z "$left" ] && break; sleep 0.1; done; echo -n "$left"',
        { language: 'bash' },
      );
      expect(left.stdout).toBe('');
    },
  },
  {
    id: 'recipe:signals',
    tag: 'driver',
    title: 'a program that a signal ends says which; memory that runs out is told apart',
    exempt: BARE,
    prove: async (context) => {
      const limits = { memoryBytes: 512 * MiB, diskBytes: 64 * MiB };
      const session = await context.fresh({ ...withTools(context.target), limits });
      await session.run('x = 1');
      const crash = await session.run('int main(void) { *(volatile int *)0 = 1; return 0; }', { language: 'c' });
      expect(crash.outcome).toEqual({ kind: 'kernel-died', signal: 'SIGSEGV' });
      const greedy =
        '#include <stdlib.h>\n#include <string.h>\nint main(void) {\n  for (;;) { char *p = malloc(1 << 24); if (p) memset(p, 1, 1 << 24); }\n}';
      const outcome = (await session.run(greedy, { language: 'c', timeoutMs: 30_000 })).outcome;
      expect(outcome).toEqual({ kind: 'out-of-memory', limitBytes: limits.memoryBytes });
      expect((await session.run('x')).value?.text).toBe('1');
    },
  },
  {
    id: 'recipe:of-user',
    tag: 'guest',
    title: 'a recipe of the configuration gets its paths, its environment and the workspace',
    exempt: BARE,
    prove: async ({ session }) => {
      const result = await session.run('anything', { language: 'env-printer' });
      expect(result.stdout).toBe('vars /workspace {unknown} hello from vars\n/workspace\n');
      expect((await session.languages()).map(({ name }) => name)).toContain('env-printer');
    },
  },
];

function programRequirement(program: Program): Requirement {
  return {
    id: `recipe:report:${program.language}`,
    tag: 'guest',
    title: `a program in ${program.title}: says what is missing, then reads, computes and writes`,
    exempt: BARE,
    prove: (context) => proveProgram(context, program),
  };
}

async function proveProgram({ fresh, target }: Context, program: Program): Promise<void> {
  const session = await fresh(withTools(target));
  const code = await readFile(join(packageRoot(), 'test', 'conformance', 'programs', program.file), 'utf8');
  const run = () => session.run(code, { language: program.language, filename: program.file, timeoutMs: 60_000 });
  const first = await run();
  if (first.outcome.kind === 'unavailable') {
    const lacksByDesign = program.notInImage === true && target.options.isolation !== 'process';
    expect(lacksByDesign || !requireAll(), `${first.outcome.missing.join(', ')}: ${first.outcome.hint}`).toBe(true);
    expect(first.outcome.missing.length).toBeGreaterThan(0);
    return;
  }
  // An exception that nobody catches aborts a program in C++.
  expect(['exited', 'kernel-died'], first.stderr).toContain(first.outcome.kind);
  expect(first.stderr).toMatch(program.complaint);
  await session.files.write('sales.csv', SALES);
  const second = await run();
  expect(second.outcome, second.stderr).toEqual({ kind: 'ok' });
  expect(second.stdout).toBe(TOTALS);
  await proveArtifacts(session, second, program);
}

async function proveArtifacts(session: Session, result: ExecutionResult, { artifacts }: Program): Promise<void> {
  expect(result.artifacts.map(({ path }) => path)).toEqual([...artifacts].sort());
  for (const path of artifacts) {
    const bytes = await session.files.read(path);
    const text = String(path.endsWith('.gz') ? gunzipSync(bytes) : bytes);
    expect(text, path).toMatch(path.endsWith('.pdf') ? /^%PDF/ : /north\D+12/);
  }
}

/** Containers have their compilers in an image of the tests, jails those of the host. */
function withTools({ options }: Target): OpenOptions {
  return options.isolation === 'process' ? {} : { image: toolsImage() };
}
