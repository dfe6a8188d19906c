import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { secretIn } from "../../../plugins/memory/secrets.ts";
import { RECORDS } from "./recall-set.ts";
import { engineIn, folder, rejection } from "./world.ts";

// Put together here so that no scanner takes this file for a leak.
const x = (...parts: string[]): string => parts.join("");
const SECRETS: readonly string[] = [
  x("-----BEGIN RSA PRIVATE", " KEY-----\nMIIE"),
  x("-----BEGIN OPENSSH PRIVATE", " KEY-----"),
  x("the key is AKIA", "IOSFODNN7EXAMPLE"),
  x("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"),
  x("github_pat_", "11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789"),
  x("glpat-", "abcdefABCDEF12345678"),
  x("sk-ant-", "api03-abcdefghijklmnopqrstuvwxyz0123456789"),
  x("sk-", "abcdefghijklmnopqrstuvwxyz012345"),
  x("AIza", "SyA1234567890abcdefghijklmnopqrstuv"),
  x("xoxb-", "123456789012-abcdefghijkl"),
  x("sk_live_", "abcdefghijklmnop1234"),
  x("npm_", "abcdefghijklmnopqrstuvwxyz0123456789"),
  x("hf_", "abcdefghijklmnopqrstuvwxyzABCDEFGH"),
  x("SG.", "abcdefghijklmnopqrst.abcdefghijklmnopqrstuvwx"),
  x("eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0NTY3ODkwIn0.", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"),
  "postgres://app:hunter22@db.internal:5432/app",
  "redis://:s3cr3tpass@cache:6379",
  "password: hunter2!x",
  "DB_PASSWORD=correct-horse-7",
  'apiKey = "9f8e7d6c5b4a"',
  "client_secret=abc123def456",
  "Authorization: Bearer abcdef0123456789abcdef",
  "пароль: qwerty123",
  "密码：abc12345",
  "the token is in the mail: token=Zx81kLpQ",
];
const HARMLESS: readonly string[] = [
  ...RECORDS,
  "The password policy asks for twelve characters.",
  "Passwords: stored in the vault, never in the repository.",
  "The token budget is 800 tokens.",
  "password = <your password>",
  x("API_KEY=$", "{API_KEY}"),
  "secret: see the vault",
  "token: process.env.TOKEN",
  "Commit 3f786850e387550fdab836ed7e6dc881de23001b broke the build.",
  "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "Request id 123e4567-e89b-12d3-a456-426614174000 failed.",
  "Pod checkout-api-7d9f8b6c5d-x2x4z restarts every night.",
  "The handler is handleUserAuthenticationRequestTimeoutError in src/services/AuthenticationService2.ts",
  "See https://example.com/docs/getting-started/installation?version=2#requirements",
  "The handle is ccr_0123456789abcdef0123456789abcdef, the memory mem_0123456789abcdef.",
  "Order cjld2cjxh0000qzrmn831i7rn belongs to customer 88123123.",
  "Use the base image node:24-bookworm-slim and set NODE_OPTIONS=--max-old-space-size=4096",
  "The secret to good coffee: freshly ground beans.",
];

describe("what must not be remembered", () => {
  test.each(SECRETS)("%s", (text) => {
    expect(secretIn(text)).toBeDefined();
    expect(secretIn(`Please remember this for later: ${text} and thanks.`)).toBeDefined();
  });

  test("keys of chance, however they are made", () => {
    const base62 = fc.array(fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"), {
      minLength: 40,
      maxLength: 64,
    });
    let caught = 0;
    let all = 0;
    fc.assert(
      fc.property(base62, (signs) => {
        all++;
        if (secretIn(`it is ${signs.join("")} now`) !== undefined) caught++;
      }),
      // Uniform: shrinking and edge cases would make keys of one letter.
      { numRuns: 400, seed: 7 },
    );
    expect(caught / all).toBeGreaterThan(0.9);
  });
});

test.each(HARMLESS.map((text) => [text]))("is no secret: %s", (text) => {
  expect(secretIn(text)).toBeUndefined();
});

test("a secret reaches neither the file, the index, a session nor a sidecar, and the refusal does not repeat it", async () => {
  using at = folder();
  const seen: string[] = [];
  const engine = engineIn(at.path, {
    sidecar: { extract: async ({ user }) => [user].filter((text) => seen.push(text) < 0) },
  });
  for (const text of SECRETS) {
    const error: unknown = await engine.remember(`It is ${text}`).catch((problem: unknown) => problem);
    expect(String(error)).toContain("cave_memory_secret_refused");
    expect(String(error)).not.toContain(text);
    engine.endTurn({ sessionId: "s", user: `my key: ${text}`, assistant: "noted" });
  }
  const { id } = await engine.remember("The key lives in the vault");
  expect(await rejection(engine.supersede(id, SECRETS[0] ?? ""))).toBe("cave_memory_secret_refused");
  await engine.flush();
  expect(seen).toEqual([]);
  expect(await engine.list({ inactive: true })).toHaveLength(1);
  expect(await engine.searchSessions("noted key")).toEqual([]);
  await engine.close();
});
