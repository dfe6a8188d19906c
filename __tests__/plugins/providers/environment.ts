/** A clean environment for a test: the variables that choose models, gone or set, and put back afterwards. */
const NAMES = [
  "CAVE_MODEL",
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "GEMINI_API_KEY",
  "GOOGLE_API_KEY",
  "ANTHROPIC_BASE_URL",
  "OPENAI_BASE_URL",
  "LOCAL_KEY",
] as const;
export type Variables = Partial<Record<(typeof NAMES)[number], string>>;

export async function withEnvironment<T>(variables: Variables, work: () => Promise<T>): Promise<T> {
  const before = NAMES.map((name) => [name, process.env[name]] as const);
  const put = (name: string, value: string | undefined): void => {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  for (const name of NAMES) put(name, variables[name]);
  try {
    return await work();
  } finally {
    for (const [name, value] of before) put(name, value);
  }
}

/** The error of a promise that must reject. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error & { code?: string };
  }
  throw new Error("expected a rejection");
}
