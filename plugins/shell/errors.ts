/** The shell tools' rows of the error table. Most of them are read by a model as the result of its call. */
export const errors = {
  cave_workspace_invalid: {
    meaning: "The workspace cannot be used.",
    remedy: "Name an existing folder that is not the root of the file system.",
  },
  cave_shell_host_required: {
    meaning: "Shell tools need the host, and this agent is to be contained.",
    remedy: 'Set sandbox: "host" on the agent that holds them, or give it other tools.',
  },
  cave_path_invalid: {
    meaning: "This is no usable path.",
    remedy: "Give a path relative to the workspace.",
  },
  cave_path_outside_workspace: {
    meaning: "The path leads out of the workspace.",
    remedy: "Stay inside the workspace; links that leave it are not followed.",
  },
  cave_path_not_found: { meaning: "There is nothing at this path.", remedy: "Look with list_files." },
  cave_path_not_file: { meaning: "This path is not a regular file.", remedy: "Name a file." },
  cave_path_not_folder: { meaning: "This path is not a folder.", remedy: "Name a folder." },
  cave_path_denied: {
    meaning: "The file system does not permit this.",
    remedy: "Choose another path, or ask the person to change the permissions.",
  },
  cave_file_hard_linked: {
    meaning: "The file has other names, which may lie outside the workspace.",
    remedy: 'Replace it with write_file, or let the host set hardLinks: "read".',
  },
  cave_file_binary: { meaning: "The file is not text.", remedy: "Inspect it with bash, for example file or xxd." },
  cave_file_too_large: {
    meaning: "The file is larger than this tool reads.",
    remedy: "Use grep, or bash with head, tail or sed.",
  },
  cave_file_changed: {
    meaning: "The file changed while the tool was at work; nothing was written.",
    remedy: "Read it again.",
  },
  cave_file_stale: {
    meaning: "The file is no longer what was read; nothing was written.",
    remedy: "Read it again, then repeat the change.",
  },
  cave_file_operation_failed: { meaning: "The file system failed.", remedy: "See the message." },
  cave_edit_text_absent: {
    meaning: "The text to replace is not in the file.",
    remedy: "Copy it exactly from read_file.",
  },
  cave_edit_text_ambiguous: {
    meaning: "The text to replace is in the file more than once.",
    remedy: "Add lines around it until it is unique, or set replace_all.",
  },
  cave_edit_no_change: { meaning: "The edit would change nothing.", remedy: "Give a new text that differs." },
  cave_pattern_invalid: {
    meaning: "This pattern cannot be searched for.",
    remedy: "Use plain regular expressions, without look-around or back-references; or set literal.",
  },
  cave_glob_invalid: { meaning: "This glob cannot be used.", remedy: "Use *, **, ?, [..] and {a,b}." },
  cave_search_timeout: {
    meaning: "The files took longer than they may.",
    remedy: "Narrow the path, the glob or the pattern.",
  },
  cave_command_unknown: { meaning: "There is no command of this id.", remedy: "Start one with command_start." },
  cave_command_limit: {
    meaning: "As many commands are running as may.",
    remedy: "Kill one of them with command_kill.",
  },
  cave_command_not_running: { meaning: "The command has ended.", remedy: "Read what it left, or start it again." },
  cave_command_input_limit: { meaning: "The command does not take so much input.", remedy: "Write less at a time." },
  cave_execution_backend_failed: {
    meaning: "The execution backend failed, or gave an answer that cannot be read.",
    remedy: "See the message; correct the backend.",
  },
} as const;
