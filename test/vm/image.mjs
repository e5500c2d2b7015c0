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
    // libstdc++6 and libatomic1 are for Node, which is the host's own binary: Debian 12's is too old.
    packages: ['mount', 'python3', 'bubblewrap', 'procps', 'busybox-static', 'libstdc++6', 'libatomic1'],
    leftOut: ['/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*', '/usr/share/info/*'],
    init: FIRST_INIT,
    fill: fillScript({ kernel: 'linux-image-cloud-amd64', size: '1G' }),
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
  const put = { init: '/vm-init', node: '/usr/local/bin/node', 'fill.sh': '/fill.sh' };
  await writeFile(join(folder, 'init'), recipe.init);
  await cp(process.execPath, join(folder, 'node'), { dereference: true });
  await writeFile(join(folder, 'fill.sh'), recipe.fill);
  const { exitCode, output } = await runMmdebstrap(mmdebstrapArguments(recipe, folder, put), folder, signal);
  if (exitCode !== 0) throw new VmFailure(`mmdebstrap could not build the image (exit ${exitCode})`, output);
  for (const name of Object.keys(put)) await rm(join(folder, name));
  // The copy out of mmdebstrap wrote the free space as zeros.
  await runQuietly(['fallocate', '--dig-holes', join(folder, 'rootfs.ext4')], { killSignal: 'SIGTERM', signal });
}

/**
 * For an ordinary user mmdebstrap works in a user namespace, where the hooks may not even look into the user's folders:
 * files go in and out by its own `upload` and `download`.
 */
function mmdebstrapArguments(recipe, folder, put) {
  const hooks = [
    ...Object.entries(put).map(([name, path]) => `upload ${shellQuote(join(folder, name))} ${path}`),
    'sh "$1/fill.sh" "$1"',
    ...['vmlinuz', 'rootfs.ext4'].map((name) => `download /tmp/${name} ${shellQuote(join(folder, name))}`),
    'umount "$1/tmp"',
  ];
  return [
    '--variant=essential',
    // The image is made by a hook: mmdebstrap's own formats are a tar, or an ext2 that has no free space.
    '--format=null',
    // apt's own user may not be able to reach the folder, for example below root's home.
    '--aptopt=APT::Sandbox::User "root"',
    `--include=${recipe.packages.join(',')}`,
    ...recipe.leftOut.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
    ...hooks.map((hook) => `--customize-hook=${hook}`),
    recipe.suite,
  ];
}

/** Runs on the host's programs with the new root folder as $1, and leaves `vmlinuz` and `rootfs.ext4` in its /tmp. */
function fillScript({ kernel, size }) {
  return `set -eu
root=$1
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
rm "$root/fill.sh"
chmod 755 "$root/vm-init" "$root/usr/local/bin/node"
chroot "$root" /usr/local/bin/node --version >/dev/null || {
  echo "This Node does not run on Debian 12 (built for a newer C library?). Use a build from nodejs.org."
  exit 1
}

# In the build's own mount namespace: gone with it however the build ends.
mount -t tmpfs -o mode=755 tmpfs "$root/tmp"
cd "$root/tmp"

# The kernel package is unpacked, not installed: installing it pulls in initramfs-tools and makes an initrd nobody needs.
package=$(apt-cache depends ${kernel} | sed -n 's/.*Depends: \\(linux-image-[0-9].*\\)/\\1/p')
apt-get download -qq "$package"
dpkg-deb --fsys-tarfile linux-image-*.deb | tar -xO --wildcards './boot/vmlinuz-*' >vmlinuz

# A plain (not recursive) bind shows the root without what is mounted in it for the hooks: /proc, /sys, /dev, our /tmp.
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*
mkdir bare
mount --bind "$root" bare
mke2fs -q -t ext4 -O ^has_journal -d bare rootfs.ext4 ${size}
umount bare
`;
}

/** What root builds in: killing the first process ends all of them and takes their mounts along. */
const OWN_NAMESPACES = ['unshare', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];

/**
 * However the build ends, SIGKILL of this process included, no mount and no process of it stays on the host. As root mmdebstrap
 * mounts in the host's own namespace and is slow to clean up, so it gets one that can be thrown away, and its files lie
 * in a folder that the caller (or the next run) removes. For an ordinary user it makes its own namespaces, and only it may
 * remove the files of their users, which it does on SIGTERM.
 */
async function runMmdebstrap(args, folder, signal) {
  const asRoot = process.getuid() === 0;
  return runQuietly([...(asRoot ? OWN_NAMESPACES : []), 'mmdebstrap', ...args], {
    killSignal: asRoot ? 'SIGKILL' : 'SIGTERM',
    env: {
      ...process.env,
      // mke2fs and chroot live where an ordinary user's path does not look.
      PATH: `${process.env.PATH}:/usr/sbin:/sbin`,
      ...(asRoot ? { TMPDIR: folder } : {}),
    },
    signal,
  });
}

/** Nothing is shown unless it fails: a build prints hundreds of lines of apt and dpkg. */
function runQuietly(argv, { killSignal, ...options }) {
  return new Promise((resolve, reject) => {
    const child = spawn('setpriv', ['--pdeathsig', killSignal.replace('SIG', ''), ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      killSignal,
      ...options,
    });
    let output = '';
    let failure;
    const keep = (chunk) => {
      output = (output + chunk).slice(-8000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => {
      failure = error;
    });
    // Not before `close`: the end of the last process that holds a pipe has to be awaited.
    child.on('close', (exitCode) => (failure ? reject(failure) : resolve({ exitCode, output })));
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
