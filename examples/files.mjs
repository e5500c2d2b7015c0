// Put a file in, let the program make others, take them out.
import { openHotcell } from 'hotcell';

const hotcell = await openHotcell();
try {
  const session = await hotcell.open();
  await session.files.write('names.txt', 'Grace\nAda\nBarbara\n');

  const { artifacts } = await session.run(`
from pathlib import Path
names = sorted(Path("names.txt").read_text().split())
Path("out").mkdir()
Path("out/sorted.txt").write_text("\\n".join(names))
`);
  for (const { path, sizeBytes, mediaType, change } of artifacts) {
    console.log(`${change} ${path}, ${sizeBytes} bytes of ${mediaType}`);
  }
  console.log((await session.files.read('out/sorted.txt')).toString().split('\n').join(', '));

  // Paths are relative to the workspace, and none leads out of it.
  await session.files.read('../etc/passwd').catch((error) => console.log(`${error.code}: ${error.message}`));
} finally {
  await hotcell.close();
}
