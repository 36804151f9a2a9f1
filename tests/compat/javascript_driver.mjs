// The official JavaScript driver against a real server. Prints one line of JSON for each check; the Python test reads them.
// usage: node javascript_driver.mjs FOLDER_OF_NODE_MODULES PORT

import { createRequire } from "module";
import assert from "assert";

const [folder, port] = process.argv.slice(2);
const neo4j = createRequire(folder + "/")("neo4j-driver");
const auth = neo4j.auth.basic("ana", "a-good-secret");

async function check(name, work) {
  let problem = null;
  try { await work(); } catch (error) { problem = String(error.stack ?? error); }
  console.log(JSON.stringify({ name, problem }));
}

for (const scheme of ["bolt", "neo4j"]) {
  const driver = neo4j.driver(`${scheme}://127.0.0.1:${port}`, auth);
  const one = async (text, params) => (await driver.executeQuery(text, params)).records[0].get(0);

  await check(`${scheme}: greeting`, async () => {
    const info = await driver.getServerInfo();
    assert.ok(info.agent.startsWith("Neo4j/"));
    assert.equal(info.protocolVersion.major, 5);
    assert.equal(await driver.supportsMultiDb(), true);
    await one("RETURN 1"); // or the driver trusts the login that its connection was just made with
    if (scheme === "bolt") assert.equal(await driver.verifyAuthentication({ auth: neo4j.auth.basic("ana", "wrong") }), false);
    assert.equal(await driver.verifyAuthentication({ auth }), true);
  });

  await check(`${scheme}: values`, async () => {
    const values = [
      null, true, 1.5, "ä€𝄞", neo4j.int("9223372036854775807"), neo4j.int(-1), [neo4j.int(1), "a"], new Int8Array([1, 2, -3]),
      new neo4j.types.Date(2024, 2, 29), new neo4j.types.LocalTime(1, 2, 3, 4), new neo4j.types.Time(1, 2, 3, 4, 3600),
      new neo4j.types.LocalDateTime(2024, 2, 29, 1, 2, 3, 4), new neo4j.types.DateTime(2024, 2, 29, 1, 2, 3, 4, 3600),
      new neo4j.types.DateTime(2024, 7, 1, 1, 2, 3, 4, 7200, "Europe/Stockholm"), new neo4j.types.Duration(1, -2, 3, 4),
      new neo4j.types.Point(neo4j.int(4326), 12.5, 55.7), new neo4j.types.Point(neo4j.int(9157), 1, 2, 3),
    ];
    for (const value of values) {
      const found = await one("RETURN $value", { value });
      assert.equal(neo4j.isInt(value) ? found.toString() : String(found), String(value));
    }
    assert.deepEqual(await one("RETURN {a: ['x', {b: null}]}"), { a: ["x", { b: null }] });
  });

  await check(`${scheme}: nodes and paths`, async () => {
    const { records } = await driver.executeQuery("CREATE p = (a:A {x: 1})-[r:R]->(b:B) RETURN a, r, p, elementId(a) AS id");
    const [node, edge, path] = [records[0].get("a"), records[0].get("r"), records[0].get("p")];
    assert.deepEqual(node.labels, ["A"]);
    assert.equal(node.elementId, records[0].get("id"));
    assert.equal(edge.startNodeElementId, node.elementId);
    assert.equal(path.segments[0].relationship.type, "R");
    assert.equal(path.length, 1);
  });

  await check(`${scheme}: transactions`, async () => {
    const session = driver.session();
    const tx = session.beginTransaction({ metadata: { agent: "kai" } });
    assert.equal((await tx.run("CREATE (:T) RETURN $_agent AS a")).records[0].get("a"), "kai");
    await tx.rollback();
    assert.equal((await one("MATCH (n:T) RETURN count(n)")).toNumber(), 0);
    await session.executeWrite(tx => tx.run("CREATE (:T)"));
    assert.equal((await session.executeRead(tx => tx.run("MATCH (n:T) RETURN count(n) AS c"))).records[0].get("c").toNumber() > 0, true);
    assert.ok(session.lastBookmarks()[0].startsWith("doxa:doxa:"));
    await session.run("MATCH (n:T) DELETE n");
    await session.close();
  });

  await check(`${scheme}: errors`, async () => {
    await assert.rejects(driver.executeQuery("RETURN"), error => error.code === "Neo.ClientError.Statement.SyntaxError" && error.gqlStatus === "42001");
    await assert.rejects(driver.executeQuery("RETURN $x"), error => error.code === "Neo.ClientError.Statement.ParameterMissing");
    await assert.rejects(driver.executeQuery("RETURN 1", {}, { database: "elsewhere" }), error => error.code.endsWith("DatabaseNotFound"));
  });

  await check(`${scheme}: streams`, async () => {
    const session = driver.session({ fetchSize: 500 });
    let count = 0;
    for await (const record of session.run("UNWIND range(1, 50000) AS x RETURN x, 'row ' + toString(x) AS name")) {
      count += 1;
      if (count === 1) assert.equal(record.get("name"), "row 1");
    }
    assert.equal(count, 50000);
    count = 0;
    for await (const _ of session.run("UNWIND range(1, 9000) AS x UNWIND range(1, 9000) AS y RETURN y")) { if (++count > 2000) break; }
    await session.close();
    assert.equal((await one("RETURN 1")).toNumber(), 1);
  });

  await driver.close();
}
