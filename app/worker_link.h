#ifndef WEIR_APP_WORKER_LINK_H
#define WEIR_APP_WORKER_LINK_H

/* Inside of struct weir_worker_link, for the file that opens it. */

#include "app/link.h"
#include "app/worker.h"

struct weir_worker_link {
	struct weir_link link;
	bool cancelled;	  /* control thread only */
	json_t *commands; /* array; control thread only; NULL: none yet */
};

#endif /* WEIR_APP_WORKER_LINK_H */
