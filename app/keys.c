#include "app/commands.h"

#include "engine/config/config.h"

#include <stdio.h>
#include <string.h>

static void
print_key(const char *path, const char *deflt, const char *takes, const char *flink,
	  const char *help)
{
	printf("| `%s` | %s | %s | %s | %s |\n", path, deflt[0] != '\0' ? deflt : "–", takes, help,
	       strcmp(flink, "-") != 0 ? flink : "–");
}

void
weir_print_keys(void)
{
	char takes[256];

	printf("| key | default | takes | meaning | Flink's option |\n|---|---|---|---|---|\n");
	for (uint32_t key = 0; key < WEIR_KEY_CNT; key++) {
		const struct weir_config_key_info *info = &weir_config_keys[key];

		print_key(info->path, info->deflt, weir_config_takes(key, takes, sizeof(takes)),
			  info->flink, info->help);
	}
	print_key("operators.ID.parallelism", "", "a number", "-",
		  "subtasks of the operator ID; unset: parallelism");
	print_key("operators.ID.cores", "", "a list of CPUs such as 2-5,8", "-",
		  "CPUs of the operator's subtasks, in order; unset: by placement.policy");
}
