import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, cp, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VmFailure } from './failures.mjs';

/**
 * The machine's kernel and root file system, built once for each recipe and kept in the cache folder.
 *
 * Debian's cloud kernel has NVMe, ext4 and the serial port built in, so there is no initrd and no module to load.
 * Everything that changes from run to run (the tree, the command, `init.sh`) comes in on a second disk: editing
 * those never rebuilds the image.
 *
 * @returns {Promise<{ kernel: string, rootfs: string }>} paths that are only ever read
 */
export async function ensureImage({ cacheFolder, say, signal }) {
  const recipe = await imageRecipe();
  const folder = join(cacheFolder, `image-${recipeHash(recipe)}`);
  const image = { kernel: join(folder, 'vmlinuz'), rootfs: join(folder, 'rootfs.ext4') };
  if (await exists(folder)) return image;

  const startedAt = performance.now();
  say(`building the image (Debian ${recipe.suite}, once per recipe)`);
  // The pid in the name lets a later run sweep what a killed build left (see work-folder.mjs).
  const unfinished = `${folder}.building-${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  try {
    await build(recipe, unfinished, signal);
    await rename(unfinished, folder).catch(async (error) => {
      // Another run finished the same recipe first; its image is as good as ours.
      if (!(await exists(folder))) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  say(`image built in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return image;
}

/** All that decides what is in the image. Two equal recipes may share one. */
async function imageRecipe() {
  return {
    suite: 'bookworm',
    kernel: 'linux-image-cloud-amd64',
    // libstdc++6 and libatomic1 are for Node, which is the host's own binary: Debian 12's is too old.
    packages: ['mount', 'python3', 'bubblewrap', 'procps', 'busybox-static', 'libstdc++6', 'libatomic1'],
    leftOut: ['/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*', '/usr/share/info/*'],
    size: '1G',
    init: FIRST_INIT,
    node: { version: process.version, sizeBytes: (await stat(process.execPath)).size },
  };
}

// Only what it takes to reach the script that travels with the tree.
const FIRST_INIT = `#!/bin/sh
mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
mkdir -p /hotcell
tar -xf /dev/nvme0n2 -C /hotcell
exec /bin/sh /hotcell/test/vm/init.sh
`;

function recipeHash(recipe) {
  return createHash('sha256').update(JSON.stringify(recipe)).digest('hex').slice(0, 16);
}

async function build(recipe, folder, signal) {
  await writeFile(join(folder, 'init'), FIRST_INIT, { mode: 0o755 });
  await cp(process.execPath, join(folder, 'node'), { dereference: true });
  await writeFile(join(folder, 'fill.sh'), fillScript(recipe));
  const { exitCode, output } = await runQuietly('mmdebstrap', mmdebstrapArguments(recipe, folder), signal);
  if (exitCode !== 0) throw new VmFailure(`mmdebstrap could not build the image (exit ${exitCode})`, output);
  for (const name of ['init', 'node', 'fill.sh']) await rm(join(folder, name));
}

export function mmdebstrapArguments(recipe, folder) {
  return [
    '--variant=essential',
    // The image is written by the last hook: mmdebstrap's own formats are a tar, or an ext2 that has no free space.
    '--format=null',
    `--include=${recipe.packages.join(',')}`,
    ...recipe.leftOut.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
    `--customize-hook=sh ${shellQuote(join(folder, 'fill.sh'))} "$1" ${shellQuote(folder)}`,
    recipe.suite,
  ];
}

/** Runs on the host, with the new root folder as $1 and the folder for the results as $2. */
function fillScript({ kernel, size }) {
  return `set -eu
root=$1 out=$2
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"

cp "$out/init" "$root/vm-init"
cp "$out/node" "$root/usr/local/bin/node"
chroot "$root" /usr/local/bin/node --version >/dev/null || {
  echo "This Node does not run on Debian 12 (built for a newer C library?). Use a build from nodejs.org."
  exit 1
}

# The kernel package is unpacked, not installed: installing it pulls in initramfs-tools and makes an initrd nobody needs.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
package=$(apt-cache depends ${kernel} | sed -n 's/.*Depends: \\(linux-image-[0-9].*\\)/\\1/p')
(cd "$scratch" && apt-get download -qq "$package")
dpkg-deb -x "$scratch"/linux-image-*.deb "$scratch/kernel"
cp "$scratch"/kernel/boot/vmlinuz-* "$out/vmlinuz"

# A plain (not recursive) bind shows the root without the /proc, /sys and /dev that are mounted in it for the hooks.
mkdir "$scratch/bare"
mount --bind "$root" "$scratch/bare"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*
mke2fs -q -t ext4 -O ^has_journal -d "$scratch/bare" "$out/rootfs.ext4" ${size} || failed=1
umount "$scratch/bare"
exit "\${failed:-0}"
`;
}

/** Nothing is shown unless it fails: a build prints hundreds of lines of apt and dpkg. */
function runQuietly(command, args, signal) {
  return new Promise((resolve, reject) => {
    // SIGTERM also when this process is killed: mmdebstrap then unmounts and removes its folder.
    const child = spawn('setpriv', ['--pdeathsig', 'TERM', command, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
      killSignal: 'SIGTERM',
    });
    let output = '';
    let aborted;
    const keep = (chunk) => {
      output = (output + chunk).slice(-8000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => {
      aborted = error;
    });
    // Not before `close`: the cleaning up has to be awaited.
    child.on('close', (exitCode) => (aborted ? reject(aborted) : resolve({ exitCode, output })));
  });
}

function shellQuote(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

async function exists(path) {
  return access(path).then(
    () => true,
    () => false,
  );
}
