/** The sandbox's rows of the error table. `\u002e` keeps the build from taking a remedy's text for code. */
const CONTAINED =
  'Run on Linux with util-linux and user namespaces, on macOS, or in WSL2; `caveman doctor` says what is missing. sandbox: "host" runs tools without containment.';

export const errors = {
  cave_tool_sandbox_entry_required: {
    meaning: "An agent whose tools run in the sandbox has no entryPath, so no worker could load its tools.",
    remedy:
      'Pass entryPath: import.meta\u002eurl of the module that exports the agent, or say sandbox: "host" on an agent whose tools you trust with this process.',
  },
  cave_sandbox_entry_required: {
    meaning: "A sandboxed tool was called in a run that staged no source.",
    remedy: "Pass entryPath with the run.",
  },
  cave_tool_sandbox_entry_escapes_root: {
    meaning: "The entry module is not a file inside rootDir.",
    remedy: "Correct entryPath, or pass a rootDir that holds the agent's sources.",
  },
  cave_tool_sandbox_source_escapes_root: {
    meaning: "A source file that the entry imports is outside rootDir, or a link leads out of it.",
    remedy: "Move the file into rootDir, pass a wider rootDir, or make it a package in node_modules.",
  },
  cave_sandbox_source_computed: {
    meaning: "A module names what it loads with a computed expression, so its sources cannot be staged.",
    remedy: "Import it by a literal string.",
  },
  cave_sandbox_source_unresolved: {
    meaning: "An import of the staged sources leads nowhere.",
    remedy: "Correct the specifier, or install the package.",
  },
  cave_sandbox_source_unsupported: {
    meaning: "A source file cannot be staged.",
    remedy:
      "Stage regular files of JavaScript, JSON and TypeScript whose types can be stripped; native addons need sandbox: host.",
  },
  cave_sandbox_source_limit: {
    meaning: "The sources of the tools are more than the sandbox stages.",
    remedy: "Import less from the module that exports the agent, or bundle it.",
  },
  cave_host_sandbox_nested_under_required: {
    meaning: "An agent with host tools is a child of an agent whose tools are contained.",
    remedy: 'Make the child required too, or the root sandbox: "host".',
  },
  cave_side_effect_blocked: {
    meaning: "A fixture agent called a tool that writes.",
    remedy: 'Test writes with sandbox: "required", or with an explicit "host".',
  },
  cave_sandbox_os_network_isolation_unavailable: {
    meaning: "This machine gives no OS boundary for sandboxed tools.",
    remedy: CONTAINED,
  },
  cave_sandbox_network_egress_unbounded: {
    meaning: "sandboxProfile.network asks for unbounded egress, and there is no scoped one.",
    remedy: 'Leave it out; a tool that needs the network belongs on an agent with sandbox: "host".',
  },
  cave_sandbox_child_process_containment_unavailable: {
    meaning: "sandboxProfile.childProcess asks for processes that nothing would contain.",
    remedy: 'Leave it out; a tool that starts processes belongs on an agent with sandbox: "host".',
  },
  cave_sandbox_credential_env_not_allowlisted: {
    meaning: "A worker may not be given this environment variable.",
    remedy: "Name ANTHROPIC_API_KEY, OPENAI_API_KEY, or GEMINI_API_KEY and GOOGLE_API_KEY.",
  },
  cave_sandbox_credential_capability_ambiguous: {
    meaning: "The credentials of two providers are asked for.",
    remedy: "Name those of one provider.",
  },
  cave_sandbox_credential_missing: {
    meaning: "A credential that sandboxProfile names is not set.",
    remedy: "Set it, or leave it out.",
  },
  cave_sandbox_timeout: {
    meaning: "The sandboxed tool ran longer than its time limit, and its worker was killed.",
    remedy: "Raise timeoutMs, or make the tool faster.",
  },
  cave_sandbox_output_limit: {
    meaning: "A sandboxed tool gave more than 1 MiB.",
    remedy: "Return less, for example a page or a summary.",
  },
  cave_sandbox_input_limit: {
    meaning: "The arguments of a sandboxed tool are more than 1 MiB.",
    remedy: "Pass less.",
  },
  cave_sandbox_request_invalid: {
    meaning: "The arguments of a sandboxed tool cannot be copied into its worker.",
    remedy: "Let the input schema give plain data, dates, maps, sets or bytes.",
  },
  cave_sandbox_invalid_output: {
    meaning: "A worker ended without an answer, or wrote one that is not of the protocol.",
    remedy: "Let the tool return; it may not exit its process or write to descriptor 3.",
  },
  cave_sandbox_failed: {
    meaning: "A worker died before it answered.",
    remedy: "Look for an exhausted memory limit (option memoryMb) or a crash in the tool.",
  },
  cave_sandbox_tool_failed: {
    meaning: "A sandboxed tool threw.",
    remedy: "See the message; correct the arguments or the tool.",
  },
  cave_sandbox_result_not_serializable: {
    meaning: "The result of a sandboxed tool cannot be written as JSON.",
    remedy: "Return plain data, without circles or BigInt.",
  },
  cave_sandbox_uncaught: {
    meaning: "A sandboxed tool left an exception uncaught.",
    remedy: "Catch what its callbacks and timers throw.",
  },
  cave_sandbox_unhandled_rejection: {
    meaning: "A sandboxed tool left a rejection unhandled.",
    remedy: "Await every promise it makes.",
  },
  cave_sandbox_source_failed: {
    meaning: "The module that exports the agent could not be loaded in a worker.",
    remedy:
      "Keep its top level free of effects: export the agent from one module, and call run() in another that imports it.",
  },
  cave_sandbox_framework_unavailable: {
    meaning: "The staged sources use a part of the framework that does not exist in a worker.",
    remedy: "Keep definitions in the staged module, and everything that runs them outside of it.",
  },
  cave_sandbox_agent_export_missing: {
    meaning: "The entry module exports no agent of this id.",
    remedy: "Export the agent that is run, and point entryPath at the module that does.",
  },
  cave_sandbox_definition_mismatch: {
    meaning: "The agent that the entry module exports is not the one that is run.",
    remedy: "Build the definition from constants only, and run the exported one.",
  },
  cave_sandbox_unknown_subagent: {
    meaning: "The staged agent has no subagent under this name, so its tools cannot be placed.",
    remedy: "Declare the subagent in the definition that the entry exports.",
  },
  cave_sandbox_unknown_tool: {
    meaning: "The staged agent has no tool under this name.",
    remedy: "Declare the tool in the definition that the entry exports.",
  },
} as const;
