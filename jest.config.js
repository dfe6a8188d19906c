const swc = {
  jsc: {
    parser: { syntax: "typescript" },
    target: "es2024",
    transform: { verbatimModuleSyntax: true },
    experimental: { keepImportAttributes: true },
  },
  module: { type: "es6" },
};

export default {
  testEnvironment: "node",
  testMatch: ["<rootDir>/__tests__/**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/", "<rootDir>/__tests__/support/", "<rootDir>/__tests__/bench/"],
  modulePathIgnorePatterns: ["<rootDir>/dist/"],
  extensionsToTreatAsEsm: [".ts"],
  transform: { "^.+\\.ts$": ["@swc/jest", swc] },
  moduleNameMapper: {
    "^caveman-agent$": "<rootDir>/index.ts",
    "^caveman-agent/testing$": "<rootDir>/plugins/testing.ts",
    "^caveman-agent/(presets|plugins|kernel)$": "<rootDir>/$1/index.ts",
    "^caveman-agent/compaction$": "<rootDir>/plugins/compaction/public.ts",
    "^caveman-agent/coding$": "<rootDir>/cli/code/index.ts",
    "^caveman-agent/context-editing$": "<rootDir>/plugins/context-editing/index.ts",
  },
  maxWorkers: 2,
};
