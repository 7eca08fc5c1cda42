// SPDX-License-Identifier: Apache-2.0
//
// Calls every tool with the SDK's client, which checks each answer against the tool's own schema.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [program, workspace] = process.argv.slice(2);
const called = new Set();

async function connect(...options) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({
    command: program, args: ["--workspace", workspace, "mcp", ...options], env: process.env,
  }));
  await client.listTools(); // from now on structured content is validated
  return client;
}

async function result(client, name, args = {}, options = undefined) {
  called.add(name);
  return client.callTool({ name, arguments: args }, undefined, options);
}

async function call(client, name, args = {}, options = undefined) {
  const answer = await result(client, name, args, options);
  assert.ok(!answer.isError, `${name}: ${JSON.stringify(answer)}`);
  return answer.structuredContent;
}

async function text(client, name, args = {}) {
  const answer = await result(client, name, args);
  assert.ok(!answer.isError, `${name}: ${JSON.stringify(answer)}`);
  assert.equal(answer.content[0].text, answer.structuredContent.content);
  return answer.content[0].text;
}

async function refused(client, name, args, wanted) {
  const answer = await result(client, name, args);
  assert.ok(answer.isError, `${name} ${JSON.stringify(args)} must fail`);
  assert.match(answer.content[0].text, wanted);
}

async function readingTools(client) {
  const whole = await text(client, "read_text_file", { path: `${workspace}/src/a.txt` });
  assert.equal(whole.split("\n").length, 11);
  assert.equal(await text(client, "read_file", { path: "/src/a.txt" }), whole);
  assert.equal(await text(client, "read_text_file", { path: "src/a.txt", head: 2 }), "line 0\nline 1");
  assert.equal(await text(client, "read_text_file", { path: "src/a.txt", tail: 2 }), "line 8\nline 9");
  const media = await call(client, "read_media_file", { path: "/src/logo.png" });
  assert.equal(media.content[0].mimeType, "image/png");
  assert.equal(Buffer.from(media.content[0].data, "base64").toString(), "not really");
  const several = await text(client, "read_multiple_files", { paths: ["/README.md", "/none"] });
  assert.match(several, /^\/README.md:\n# project\n\n\n---\n\/none: Error - ENOENT/);
  await refused(client, "read_text_file", { path: "/none" }, /ENOENT/);
  await refused(client, "read_text_file", { path: "/etc/passwd" }, /Access denied/);
  await refused(client, "read_text_file", {}, /path/);
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), { code: -32602 });
}

async function listingTools(client) {
  assert.equal(await text(client, "list_directory", { path: workspace }), "[FILE] README.md\n[DIR] src");
  assert.match(await text(client, "list_directory_with_sizes", { path: "/src", sortBy: "size" }),
    /^\[FILE\] a.txt +70 B\n.*\n\nTotal: 2 files, 0 directories\nCombined size: 80 B$/);
  const tree = JSON.parse(await text(client, "directory_tree", { path: "/", excludePatterns: ["*.md"] }));
  assert.deepEqual(tree.map((entry) => entry.name), ["src"]);
  assert.equal(await text(client, "search_files", { path: "/", pattern: "**/*.txt" }),
    `${workspace}/src/a.txt`);
  assert.match(await text(client, "get_file_info", { path: "/src" }), /isDirectory: true/);
  assert.equal(await text(client, "list_allowed_directories"), `Allowed directories:\n${workspace}`);
}

async function changingTools(client) {
  await text(client, "write_file", { path: "/new.txt", content: "ä\nb\n" });
  assert.match(await text(client, "edit_file",
    { path: "/new.txt", edits: [{ oldText: "b", newText: "c" }], dryRun: true }), /\n-b\n\+c\n/);
  await text(client, "edit_file", { path: "/new.txt", edits: [{ oldText: "  b", newText: "c" }] });
  assert.equal(await text(client, "read_text_file", { path: "/new.txt" }), "ä\nc\n");
  await text(client, "create_directory", { path: "/made/deep" });
  await text(client, "copy_file", { source: "/src", destination: "/made/src" });
  await text(client, "move_file", { source: "/made/src/a.txt", destination: "/made/b.txt" });
  await refused(client, "move_file", { source: "/new.txt", destination: "/made/b.txt" }, /already exists/);
  await text(client, "delete_file", { path: "/made/deep" });
}

async function workspaceTools(client) {
  const snapshot = await call(client, "snapshot", { name: "one" });
  assert.equal(snapshot.name, "one");
  await text(client, "delete_file", { path: "/src", recursive: true });
  const diff = await call(client, "diff", { from: "one" });
  assert.deepEqual(diff.changes.map((change) => change.status), ["D", "D"]);
  assert.match(diff.patch, /^diff --git a\/src\/a.txt/);
  await call(client, "restore", { ref: "one" });
  assert.equal((await call(client, "diff", { from: "one" })).changes.length, 0);
  await call(client, "branch_create", { name: "side" });
  await call(client, "branch_switch", { name: "side" });
  await text(client, "write_file", { path: "/new.txt", content: "side" });
  const branches = await call(client, "branch_list");
  assert.equal(branches.current, "side");
  await call(client, "branch_switch", { name: "main" });
  assert.equal(await text(client, "read_text_file", { path: "/new.txt" }), "ä\nc\n");
  assert.ok((await call(client, "history")).events.length >= 1);
}

async function commands(client) {
  const told = [];
  const done = await call(client, "exec",
    { command: "echo hello; cat README.md >&2; echo x > by-command; sleep 1; exit 3" },
    { onprogress: (each) => told.push(each.progress) });
  assert.equal(done.result.stdout, "hello\n");
  assert.equal(done.result.stderr, "# project\n");
  assert.equal(done.result.exit_code, 3);
  assert.deepEqual(done.result.changed_files.map((file) => file.path), ["/by-command"]);
  assert.ok(told.length > 0 && told.every((value, i) => i === 0 || value > told[i - 1]), `${told}`);
  assert.equal(await text(client, "read_text_file", { path: "/by-command" }), "x\n");
  await call(client, "undo");
  await refused(client, "read_text_file", { path: "/by-command" }, /ENOENT/);
  const words = await call(client, "exec", { argv: ["pwd"], cwd: "/src", read_only: true });
  assert.equal(words.result.stdout, `${workspace}/src\n`);
  await refused(client, "exec", {}, /invalid_command/);
  // A command that is cancelled ends, and nobody waits for it.
  const stop = new AbortController();
  const endless = result(client, "exec", { command: "touch started; sleep 1000" }, { signal: stop.signal });
  while ((await result(client, "get_file_info", { path: "/started" })).isError) {
    await new Promise((done) => setTimeout(done, 20));
  }
  stop.abort("enough");
  await assert.rejects(endless);
}

async function queries(client) {
  const { rows } = await call(client, "query",
    { sql: "SELECT name, error FROM tool_calls WHERE name = 'write_file' ORDER BY id LIMIT 1" });
  assert.equal(rows[0].name, "write_file");
  const execs = await call(client, "query", { sql: "SELECT count(*) AS n FROM execs WHERE kind = 'mcp'" });
  assert.ok(execs.rows[0].n > 20);
  await refused(client, "query", { sql: "DELETE FROM execs" }, /./);
}

async function resources(client) {
  const { resources: all } = await client.listResources();
  assert.ok(all.some((each) => each.uri === `file://${workspace}/made/b.txt`));
  const { contents } = await client.readResource({ uri: `file://${workspace}/README.md` });
  assert.equal(contents[0].text, "# project\n");
  await assert.rejects(client.readResource({ uri: "file:///etc/passwd" }), { code: -32002 });
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1);
}

async function severalClients(client) {
  const others = await Promise.all(["x", "y"].map((branch) => connect("--branch", branch)));
  await Promise.all(others.map((other, i) =>
    Promise.all([...Array(50).keys()].map((n) =>
      text(other, "write_file", { path: `/f${n}`, content: `${i}` })))));
  for (const [i, other] of others.entries()) {
    assert.equal(await text(other, "read_text_file", { path: "/f49" }), `${i}`);
    await other.close();
  }
  await refused(client, "read_text_file", { path: "/f49" }, /ENOENT/);
}

const client = await connect();
assert.equal(client.getServerVersion().name, "agentfs");
const { tools } = await client.listTools();
await readingTools(client);
await listingTools(client);
await changingTools(client);
await workspaceTools(client);
await commands(client);
await queries(client);
await resources(client);
await severalClients(client);
await client.ping();
await client.close();
const untried = tools.map((tool) => tool.name).filter((name) => !called.has(name));
assert.deepEqual(untried, [], "tools that were not called");
console.log(`${called.size} tools called`);
