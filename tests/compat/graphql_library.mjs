// The official GraphQL library (@neo4j/graphql) against a Bolt server: a small schema with nested
// relationships, and the operations that it generates. Prints a line of JSON for each step.
//
//   node graphql_library.mjs FOLDER PORT [USER PASSWORD]
//
// FOLDER holds node_modules. USER and PASSWORD are for running the same steps against Neo4j.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, port, user = "ana", password = "a-good-secret"] = process.argv.slice(2);
const required = createRequire(resolve(folder, "package.json"));
const neo4j = required("neo4j-driver");
const { Neo4jGraphQL } = required("@neo4j/graphql");
const { graphql } = required("graphql");

const typeDefs = `
  type Movie @node {
    title: String!
    released: Int
    genres: [String!]
    shot: Date
    seen: DateTime
    actors: [Person!]! @relationship(type: "ACTED_IN", direction: IN, properties: "ActedIn")
    director: [Person!]! @relationship(type: "DIRECTED", direction: IN)
    cast: Int @cypher(
      statement: "MATCH (this)<-[:ACTED_IN]-(p) RETURN count(p) AS c", columnName: "c")
  }
  type Person @node {
    id: ID! @id
    name: String!
    born: Int
    movies: [Movie!]! @relationship(type: "ACTED_IN", direction: OUT, properties: "ActedIn")
    directed: [Movie!]! @relationship(type: "DIRECTED", direction: OUT)
  }
  type ActedIn @relationshipProperties {
    roles: [String!]
    minutes: Int
  }
  type Secret @node @authentication(operations: [READ]) {
    text: String
  }
  type Note @node @authorization(validate: [{ where: { node: { owner: { eq: "$jwt.sub" } } } }]) {
    owner: String
    text: String
  }
`;

const driver = neo4j.driver(`bolt://127.0.0.1:${port}`, neo4j.auth.basic(user, password));
const library = new Neo4jGraphQL({ typeDefs, driver });
const schema = await library.getSchema();

async function ask(source, variables = {}, context = {}) {
  const told = await graphql({ schema, source, variableValues: variables, contextValue: context });
  if (told.errors) {
    const first = told.errors[0];
    throw new Error(`${first.message} ${first.originalError?.stack ?? ""}`);
  }
  return JSON.parse(JSON.stringify(told.data));
}

const titles = (found) => found.movies.map((one) => one.title);

const steps = {
  async "create with nested nodes"() {
    const made = await ask(`mutation {
      createMovies(input: [
        { title: "Alpha", released: 1999, genres: ["crime"], shot: "1998-05-01",
          seen: "2001-02-03T04:05:06.000Z",
          actors: { create: [
            { node: { name: "Ann", born: 1960 }, edge: { roles: ["Zoe"], minutes: 90 } },
            { node: { name: "Bob", born: 1970 }, edge: { roles: ["Yan", "Xi"], minutes: 30 } } ] },
          director: { create: [{ node: { name: "Cy", born: 1950 } }] } },
        { title: "Beta", released: 2003, genres: ["drama", "crime"] },
        { title: "Gamma", released: 2010 }
      ]) { info { nodesCreated relationshipsCreated } movies { title actors { name } } }
    }`);
    assert.deepEqual(made.createMovies.info, { nodesCreated: 6, relationshipsCreated: 3 });
    assert.equal(made.createMovies.movies[0].actors.length, 2);
  },
  async "read, nested, sorted"() {
    const found = await ask(`{ movies(sort: [{ released: DESC }]) {
      title shot seen actors(sort: [{ name: ASC }]) { name } director { name } cast } }`);
    assert.deepEqual(titles(found), ["Gamma", "Beta", "Alpha"]);
    assert.deepEqual(found.movies[2], {
      title: "Alpha", shot: "1998-05-01", seen: "2001-02-03T04:05:06.000Z", cast: 2,
      actors: [{ name: "Ann" }, { name: "Bob" }], director: [{ name: "Cy" }] });
  },
  async "filters of values"() {
    const ask1 = async (where) => titles(
      await ask(`{ movies(where: ${where}, sort: [{ title: ASC }]) { title } }`));
    assert.deepEqual(await ask1(`{ released: { gt: 2000 } }`), ["Beta", "Gamma"]);
    assert.deepEqual(await ask1(`{ title: { startsWith: "B" } }`), ["Beta"]);
    assert.deepEqual(await ask1(`{ title: { in: ["Alpha", "Gamma"] } }`), ["Alpha", "Gamma"]);
    assert.deepEqual(await ask1(`{ genres: { includes: "crime" } }`), ["Alpha", "Beta"]);
    assert.deepEqual(await ask1(`{ NOT: { title: { contains: "l" } } }`), ["Beta", "Gamma"]);
    assert.deepEqual(await ask1(`{ seen: { gt: "2001-02-03T04:05:05Z" } }`), ["Alpha"]);
    assert.deepEqual(await ask1(`{ shot: { lt: "2000-01-01" } }`), ["Alpha"]);
    assert.deepEqual(
      await ask1(`{ OR: [{ released: { lte: 1999 } }, { title: { endsWith: "mma" } }] }`),
      ["Alpha", "Gamma"]);
  },
  async "filters of relationships"() {
    const ask1 = async (where) => titles(
      await ask(`{ movies(where: ${where}, sort: [{ title: ASC }]) { title } }`));
    assert.deepEqual(await ask1(`{ actors: { some: { name: { eq: "Ann" } } } }`), ["Alpha"]);
    assert.deepEqual(
      await ask1(`{ actors: { none: { name: { eq: "Ann" } } } }`), ["Beta", "Gamma"]);
    assert.deepEqual(await ask1(`{ actors: { single: { born: { gt: 1965 } } } }`), ["Alpha"]);
    assert.deepEqual(
      await ask1(`{ actorsConnection: { some: { edge: { minutes: { gte: 60 } } } } }`), ["Alpha"]);
    assert.deepEqual(
      await ask1(`{ actorsConnection: { aggregate: { count: { nodes: { gt: 1 } } } } }`),
      ["Alpha"]);
  },
  async "connections and pages"() {
    const first = await ask(`{ moviesConnection(first: 2, sort: [{ title: ASC }]) {
      totalCount pageInfo { hasNextPage endCursor } edges { node { title } } } }`);
    assert.equal(first.moviesConnection.totalCount, 3);
    assert.equal(first.moviesConnection.pageInfo.hasNextPage, true);
    const next = await ask(
      `query ($after: String) { moviesConnection(first: 2, after: $after, sort: [{ title: ASC }]) {
        edges { node { title } } } }`,
      { after: first.moviesConnection.pageInfo.endCursor });
    assert.deepEqual(next.moviesConnection.edges.map((one) => one.node.title), ["Gamma"]);
    const edges = await ask(`{ movies(where: { title: { eq: "Alpha" } }) {
      actorsConnection(sort: [{ edge: { minutes: ASC } }]) {
        totalCount edges { properties { roles minutes } node { name } } } } }`);
    assert.deepEqual(edges.movies[0].actorsConnection.edges[0], {
      properties: { roles: ["Yan", "Xi"], minutes: 30 }, node: { name: "Bob" } });
  },
  async "aggregations"() {
    const found = await ask(`{ moviesConnection { aggregate { count { nodes }
      node { released { min max average } title { shortest longest } } } }
      movies(where: { title: { eq: "Alpha" } }) { actorsConnection { aggregate {
        count { nodes } node { born { min } } edge { minutes { sum } } } } } }`);
    assert.equal(found.moviesConnection.aggregate.count.nodes, 3);
    assert.deepEqual(found.moviesConnection.aggregate.node.released,
      { min: 1999, max: 2010, average: 2004 });
    assert.deepEqual(found.movies[0].actorsConnection.aggregate,
      { count: { nodes: 2 }, node: { born: { min: 1960 } }, edge: { minutes: { sum: 120 } } });
  },
  async "update values"() {
    const done = await ask(`mutation { updateMovies(where: { title: { eq: "Beta" } },
      update: { released: { add: 1 }, genres: { push: ["noir"] } }) {
        info { nodesCreated } movies { released genres } } }`);
    assert.deepEqual(done.updateMovies.movies, [
      { released: 2004, genres: ["drama", "crime", "noir"] }]);
  },
  async "update with nested create, connect and update"() {
    const done = await ask(`mutation { updateMovies(where: { title: { eq: "Beta" } }, update: {
      actors: [{ connect: [{ where: { node: { name: { eq: "Ann" } } }, edge: { minutes: 10 } }],
        create: [{ node: { name: "Dan", born: 1980 }, edge: { roles: ["Wu"] } }] }] }) {
          info { nodesCreated relationshipsCreated } movies { actors(sort: [{ name: ASC }]) {
            name } } } }`);
    assert.deepEqual(done.updateMovies.movies[0].actors, [{ name: "Ann" }, { name: "Dan" }]);
    await ask(`mutation { updateMovies(where: { title: { eq: "Beta" } }, update: {
      actors: [{ update: { where: { node: { name: { eq: "Dan" } } },
        node: { born: { set: 1981 } }, edge: { minutes: { set: 5 } } } }] }) {
          movies { title } } }`);
    const found = await ask(`{ people(where: { name: { eq: "Dan" } }) { born
      moviesConnection { edges { properties { minutes } } } } }`);
    assert.deepEqual(found.people, [
      { born: 1981, moviesConnection: { edges: [{ properties: { minutes: 5 } }] } }]);
  },
  async "disconnect and nested delete"() {
    await ask(`mutation { updateMovies(where: { title: { eq: "Beta" } }, update: {
      actors: [{ disconnect: [{ where: { node: { name: { eq: "Ann" } } } }],
        delete: [{ where: { node: { name: { eq: "Dan" } } } }] }] }) { movies { title } } }`);
    const found = await ask(`{ people(sort: [{ name: ASC }]) { name movies { title } } }`);
    assert.deepEqual(found.people, [
      { name: "Ann", movies: [{ title: "Alpha" }] }, { name: "Bob", movies: [{ title: "Alpha" }] },
      { name: "Cy", movies: [] }]);
  },
  async "create with connect"() {
    const made = await ask(`mutation { createPeople(input: [{ name: "Eve",
      movies: { connect: [{ where: { node: { title: { eq: "Gamma" } } }, edge: { minutes: 1 } }] }
      }]) { people { id name movies { title } } } }`);
    assert.match(made.createPeople.people[0].id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(made.createPeople.people[0].movies, [{ title: "Gamma" }]);
  },
  async "delete with nested delete"() {
    const done = await ask(`mutation { deleteMovies(where: { title: { eq: "Alpha" } }, delete: {
      actors: [{ where: { node: { name: { eq: "Bob" } } } }], director: [{}] }) {
        nodesDeleted relationshipsDeleted } }`);
    assert.deepEqual(done.deleteMovies, { nodesDeleted: 3, relationshipsDeleted: 3 });
    const left = await ask(`{ people(sort: [{ name: ASC }]) { name } }`);
    assert.deepEqual(left.people, [{ name: "Ann" }, { name: "Eve" }]);
  },
  async "authentication"() {
    await assert.rejects(ask(`{ secrets { text } }`), /Unauthenticated/);
    assert.deepEqual(await ask(`{ secrets { text } }`, {}, { jwt: { sub: "ann" } }), { secrets: [] });
  },
  async "authorization by a predicate"() {
    await ask(`mutation { createNotes(input: [{ owner: "ann", text: "mine" }]) { notes { text } } }`,
      {}, { jwt: { sub: "ann" } });
    const mine = await ask(`{ notes { text } }`, {}, { jwt: { sub: "ann" } });
    assert.deepEqual(mine.notes, [{ text: "mine" }]);
    await assert.rejects(ask(`{ notes { text } }`, {}, { jwt: { sub: "bob" } }), /Forbidden/);
  },
  async "constraints and the checked schema"() {
    await library.assertIndexesAndConstraints({ driver });
    await library.checkNeo4jCompat({ driver });
  },
};

for (const [name, step] of Object.entries(steps)) {
  let problem = "";
  try {
    await step();
  } catch (error) {
    problem = String(error?.stack ?? error);
  }
  console.log(JSON.stringify({ name, problem }));
}
await driver.close();
