// SPDX-License-Identifier: Apache-2.0
//
// What the public client of the Agent Filesystem Specification sees in a file, and what it writes.
// usage: node client.mjs read|write FILE     (with agentfs-sdk in the current directory)
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.cwd() + "/");
const { AgentFS } = await import(pathToFileURL(require.resolve("agentfs-sdk")));
const [, , mode, file] = process.argv;
const agent = await AgentFS.open({ path: file });

async function walk(path, found) {
  for (const name of (await agent.fs.readdir(path)).sort()) {
    const child = path === "/" ? "/" + name : path + "/" + name;
    const stat = await agent.fs.lstat(child);
    const entry = { mode: stat.mode, size: stat.size, nlink: stat.nlink, mtime: stat.mtime };
    if (stat.isSymbolicLink()) {
      entry.target = await agent.fs.readlink(child);
    } else if (stat.isFile()) {
      entry.content = Buffer.from(await agent.fs.readFile(child)).toString("base64");
    }
    found[child] = entry;
    if (stat.isDirectory()) await walk(child, found);
  }
  return found;
}

if (mode === "write") {
  await agent.fs.mkdir("/made");
  await agent.fs.writeFile("/made/text", "by the client\n");
  await agent.fs.writeFile("/made/large", Buffer.alloc(70001, 7));
  await agent.fs.symlink("text", "/made/link");
  await agent.fs.rename("/moves", "/made/moved");
  await agent.fs.unlink("/goes");
  await agent.kv.set("from the client", { answer: [42, null, "text"] });
  await agent.tools.record("client-tool", 1000, 1002, { a: 1 }, { b: 2 });
  const pending = await agent.tools.start("client-pending", { c: 3 });
  await agent.tools.error(pending, "failed");
}
const tools = await agent.tools.getRecent(0);
const kv = await agent.kv.list("");
console.log(JSON.stringify({ files: await walk("/", {}), kv, tools }));
await agent.close();
