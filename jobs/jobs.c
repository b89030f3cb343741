#include "jobs/jobs.h"

#include "jobs/flowstats/flowstats.h"
#include "jobs/nexmark/nexmark.h"
#include "jobs/wordcount/wordcount.h"

#include <string.h>

const struct weir_builtin_job weir_builtin_jobs[] = {
	{ "wordcount", weir_wordcount, "counts the words of a file or a directory" },
	{ "flowstats", weir_flowstats,
	  "packets and bytes per conversation and window of captures" },
	{ "nexmark-q0", weir_nexmark_q0, "every bid as it comes" },
	{ "nexmark-q1", weir_nexmark_q1, "every bid, its price in another currency" },
	{ "nexmark-q2", weir_nexmark_q2, "the bids of every 123rd auction" },
	{ "nexmark-q5", weir_nexmark_q5, "the auctions with the most bids in sliding windows" },
	{ "nexmark-q7", weir_nexmark_q7, "the highest bids of every window" },
};
const uint32_t weir_builtin_job_cnt = sizeof(weir_builtin_jobs) / sizeof(weir_builtin_jobs[0]);

const struct weir_builtin_job *
weir_builtin_job_find(const char *name)
{
	for (uint32_t i = 0; i < weir_builtin_job_cnt; i++)
		if (strcmp(weir_builtin_jobs[i].name, name) == 0)
			return &weir_builtin_jobs[i];
	return NULL;
}
