#include "app/cli.h"

#include "engine/base/error.h"
#include "engine/config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct option_info {
	const char *name; /* without the dashes */
	const char *arg;  /* NULL: a flag */
	const char *help;
};

static const struct option_info options[WEIR_OPT_CNT] = {
	[WEIR_OPT_CONFIG] = { "config", "FILE", "configuration, YAML" },
	[WEIR_OPT_SET] = { "set", "KEY=VALUE", "one key; wins over the file, may be repeated" },
	[WEIR_OPT_REPORT] = { "report", "FILE", "write the run's report there, as JSON" },
	[WEIR_OPT_JSON] = { "json", NULL, "print JSON" },
	[WEIR_OPT_FULL] = { "full", NULL, "refer to no older file" },
	[WEIR_OPT_INCREMENTAL] = { "incremental", NULL, "only what has changed, where it can" },
	[WEIR_OPT_NATIVE] = { "native", NULL, "pages as the state backend has them (default)" },
	[WEIR_OPT_CANONICAL] = { "canonical", NULL,
				 "sorted entries, independent of the state backend" },
	[WEIR_OPT_SUSPEND] = { "suspend", NULL, "stop where the input is now (default)" },
	[WEIR_OPT_DRAIN] = { "drain", NULL,
			     "end the input first: all windows fire; the job is over for good" },
	[WEIR_OPT_SAVEPOINT] = { "savepoint", "DIR",
				 "where the savepoint goes; else savepoint.dir" },
	[WEIR_OPT_REQUEST_ID] = { "request-id", "ID",
				  "asked again with the same id, the first outcome is given" },
	[WEIR_OPT_HELP] = { "help", NULL, "this text" },
};

static int usage_error(const char *near, const char *fmt, ...) WEIR_PRINTF(2, 3);

static int
usage_error(const char *near, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "weir: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	if (near != NULL)
		fprintf(stderr, "      = help: did you mean %s?\n", near);
	else
		fprintf(stderr, "      = help: weir help lists the commands\n");
	return WEIR_ERR_USAGE;
}

static void
print_command_help(const struct weir_command *cmd)
{
	printf("usage: weir %s%s%s%s%s [options]\n\n%s\n\n", cmd->group != NULL ? cmd->group : "",
	       cmd->group != NULL ? " " : "", cmd->name, cmd->args[0] != '\0' ? " " : "", cmd->args,
	       cmd->summary);
	for (uint32_t i = 0; i < WEIR_OPT_CNT; i++) {
		char left[48];

		if ((cmd->options & (1u << i)) == 0)
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", options[i].name,
			 options[i].arg != NULL ? " " : "",
			 options[i].arg != NULL ? options[i].arg : "");
		printf("  %-20s  %s\n", left, options[i].help);
	}
	if (cmd->more != NULL)
		printf("\n");
	for (const char *const *line = cmd->more; line != NULL && *line != NULL; line++)
		printf("%s\n", *line);
}

static void
print_commands(const struct weir_command *commands, uint32_t cnt)
{
	printf("usage: weir COMMAND [options]\n\n");
	for (uint32_t i = 0; i < cnt; i++) {
		char left[64];

		if (commands[i].name[0] == '_')
			continue; /* for the program itself */
		snprintf(left, sizeof(left), "%s%s%s %s",
			 commands[i].group != NULL ? commands[i].group : "",
			 commands[i].group != NULL ? " " : "", commands[i].name, commands[i].args);
		printf("  %-26s  %s\n", left, commands[i].summary);
	}
	printf("\nweir COMMAND --help says more about a command, weir help keys lists the "
	       "configuration keys.\n");
}

static bool
matches(const struct weir_command *cmd, const char *first, const char *second)
{
	if (cmd->group == NULL)
		return strcmp(cmd->name, first) == 0;
	return strcmp(cmd->group, first) == 0 && second != NULL && strcmp(cmd->name, second) == 0;
}

static const struct weir_command *
find_command(const struct weir_command *commands, uint32_t cnt, const char *first,
	     const char *second)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (matches(&commands[i], first, second))
			return &commands[i];
	}
	return NULL;
}

/* No such command: name the nearest, of the group if the first word names one. */
static int
unknown_command(const struct weir_command *commands, uint32_t cnt, const char *first,
		const char *second)
{
	const char *words[64];
	uint32_t word_cnt = 0;
	bool group = false;

	for (uint32_t i = 0; i < cnt; i++)
		group |= commands[i].group != NULL && strcmp(commands[i].group, first) == 0;
	for (uint32_t i = 0; i < cnt && word_cnt < WEIR_ARRAY_CNT(words); i++) {
		if (commands[i].name[0] == '_')
			continue;
		if (!group)
			words[word_cnt++] =
				commands[i].group != NULL ? commands[i].group : commands[i].name;
		else if (commands[i].group != NULL && strcmp(commands[i].group, first) == 0)
			words[word_cnt++] = commands[i].name;
	}
	if (group && second == NULL)
		return usage_error(NULL, "%s needs a second word: list, inspect or verify", first);
	if (group)
		return usage_error(weir_suggest(second, words, word_cnt), "unknown command %s %s",
				   first, second);
	return usage_error(weir_suggest(first, words, word_cnt), "unknown command %s", first);
}

int
weir_cli_help(const struct weir_command *commands, uint32_t cnt, const char *name,
	      const char *second)
{
	const struct weir_command *cmd;

	if (name == NULL) {
		print_commands(commands, cnt);
		return 0;
	}
	cmd = find_command(commands, cnt, name, second);
	if (cmd != NULL) {
		print_command_help(cmd);
		return 0;
	}
	for (uint32_t i = 0; second == NULL && i < cnt; i++) {
		if (commands[i].group == NULL || strcmp(commands[i].group, name) != 0)
			continue;
		print_command_help(&commands[i]);
		printf("\n");
		cmd = &commands[i];
	}
	return cmd != NULL ? 0 : unknown_command(commands, cnt, name, second);
}

/* The option of cmd that text ("set" of --set, len bytes) names, or WEIR_OPT_CNT. */
static uint32_t
find_option(const struct weir_command *cmd, const char *text, size_t len)
{
	for (uint32_t i = 0; i < WEIR_OPT_CNT; i++) {
		if ((cmd->options & (1u << i)) != 0 && strlen(options[i].name) == len &&
		    memcmp(options[i].name, text, len) == 0)
			return i;
	}
	return WEIR_OPT_CNT;
}

static int
unknown_option(const struct weir_command *cmd, const char *text, size_t len)
{
	const char *words[WEIR_OPT_CNT];
	char given[64], near[80];
	const char *best;
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < WEIR_OPT_CNT; i++) {
		if ((cmd->options & (1u << i)) != 0)
			words[cnt++] = options[i].name;
	}
	snprintf(given, sizeof(given), "%.*s", (int)(len < 60 ? len : 60), text);
	best = weir_suggest(given, words, cnt);
	snprintf(near, sizeof(near), "--%s", best != NULL ? best : "");
	return usage_error(best != NULL ? near : NULL, "%s has no option --%s", cmd->name, given);
}

/* argv[*i] is an option: note it, and its value, which may be the next argument. */
static int
take_option(struct weir_cli *cli, int argc, char **argv, int *i)
{
	const char *text = argv[*i] + 2;
	const char *eq = strchr(text, '=');
	const size_t len = eq != NULL ? (size_t)(eq - text) : strlen(text);
	const uint32_t opt = find_option(cli->command, text, len);
	const char *value = eq != NULL ? eq + 1 : NULL;

	if (opt == WEIR_OPT_CNT)
		return unknown_option(cli->command, text, len);
	if (options[opt].arg == NULL && value != NULL)
		return usage_error(NULL, "--%s takes no value", options[opt].name);
	if (options[opt].arg != NULL && value == NULL) {
		if (*i + 1 >= argc)
			return usage_error(NULL, "--%s needs %s", options[opt].name,
					   options[opt].arg);
		value = argv[++*i];
	}
	if (opt == WEIR_OPT_SET) {
		if (cli->set_cnt == WEIR_CLI_SETS_MAX)
			return usage_error(NULL, "more than %u --set", WEIR_CLI_SETS_MAX);
		cli->set[cli->set_cnt++] = value;
	} else if (cli->given[opt]) {
		return usage_error(NULL, "--%s is given twice", options[opt].name);
	}
	cli->given[opt] = true;
	cli->value[opt] = value;
	return 0;
}

static int
parse(struct weir_cli *cli, int argc, char **argv, int first)
{
	const struct weir_command *cmd = cli->command;
	bool only_args = false;

	for (int i = first; i < argc; i++) {
		int rc = 0;

		if (!only_args && strcmp(argv[i], "--") == 0)
			only_args = true;
		else if (!only_args && strcmp(argv[i], "-h") == 0)
			cli->given[WEIR_OPT_HELP] = true;
		else if (!only_args && strncmp(argv[i], "--", 2) == 0)
			rc = take_option(cli, argc, argv, &i);
		else if (!only_args && argv[i][0] == '-' && argv[i][1] != '\0')
			rc = unknown_option(cmd, argv[i] + 1, strlen(argv[i]) - 1);
		else if (cli->arg_cnt == cmd->args_max)
			rc = usage_error(NULL, "%s: one argument too many: %s", cmd->name, argv[i]);
		else
			cli->arg[cli->arg_cnt++] = argv[i];
		if (rc != 0)
			return rc;
	}
	if (!cli->given[WEIR_OPT_HELP] && cli->arg_cnt < cmd->args_min)
		return usage_error(NULL, "%s needs %s", cmd->name, cmd->args);
	return 0;
}

int
weir_cli_main(int argc, char **argv, const struct weir_command *commands, uint32_t cnt)
{
	struct weir_cli cli = { 0 };
	int rc;

	if (argc < 2) {
		print_commands(commands, cnt);
		return WEIR_ERR_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return weir_cli_help(commands, cnt, NULL, NULL);
	if (strcmp(argv[1], "--version") == 0)
		argv[1] += 2;
	cli.command = find_command(commands, cnt, argv[1], argc > 2 ? argv[2] : NULL);
	if (cli.command == NULL && argc > 2 && strcmp(argv[2], "--help") == 0)
		return weir_cli_help(commands, cnt, argv[1], NULL);
	if (cli.command == NULL)
		return unknown_command(commands, cnt, argv[1], argc > 2 ? argv[2] : NULL);
	if (cli.command->raw != NULL)
		return cli.command->raw(argc - 1, argv + 1);
	rc = parse(&cli, argc, argv, cli.command->group != NULL ? 3 : 2);
	if (rc != 0)
		return rc;
	if (cli.given[WEIR_OPT_HELP]) {
		print_command_help(cli.command);
		return 0;
	}
	return cli.command->run(&cli);
}
