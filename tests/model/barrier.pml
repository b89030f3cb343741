/*
 * The barrier protocol of one consumer with two channels, two producers, two checkpoints.
 *
 *   producer 0 --| data lane, priority lane |--> channel 0 \
 *                                                            handler (alternating)
 *   producer 1 --| data lane, priority lane |--> channel 1 /
 *
 * A producer sends two frames, or one, and, for each checkpoint, at any place between them, a barrier that
 * may time out (announced, T6), an unaligned barrier, a cancel marker, or, for the first, nothing (it
 * never heard of the checkpoint, which makes the next one subsume it). The consumer takes from any lane in any
 * order that numbers and closed channels allow (T5, T34); its timer may fire whenever it is armed (T7).
 *
 * Proven, over all interleavings:
 *   cut        a snapshot of n has processed k frames of each channel and kept exactly k + 1 .. m, in
 *              order, m being what came before the barrier n of that channel (checkpointing.md, 0)
 *   once       no id is triggered twice, none after a newer one
 *   progress   when nothing moves any more, nothing is left in any channel, and the last checkpoint
 *              is complete if both producers sent its barrier and none cancelled it
 *
 * A rule is broken by -DNO_CLOSE, -DNO_LATE, -DNO_BOUND, -DNO_STALE, -DNO_CANCEL, -DNO_ORDER: each must be found.
 *
 * A channel is the list of all that was ever pushed on it: kind, id, and whether it was handed out.
 * What waits in the priority lane are the unaligned barriers, announcements, and moved barriers of
 * that list that are not out.
 */

#define FRAMES(c) (2 - (c)) /* the channels' roles are the same: two on one of them is enough */
#define ITEMS	 4
#define NONE	 ITEMS
#define AT(c, i) ((c) * ITEMS + (i))

mtype = { DATA, TIMED, UNALIGNED, CANCEL };

mtype kind[2 * ITEMS];
byte id[2 * ITEMS];
bit out[2 * ITEMS];	  /* handed out */
bit announced[2 * ITEMS]; /* the announcement waits in the priority lane */
bit moved[2 * ITEMS];	  /* the barrier waits in the priority lane */
byte next[2];		  /* number of the next item */
byte producers_done;

/* The consumer. */
byte processed[2]; /* frames */
byte closed[2];	   /* number that closed it; NONE: open */
byte current;
bit pending, timed, switched, taken;
bit counted[2], known[2]; /* barrier in; announcement seen */
byte k[2], kept[2]; /* of the snapshot: frames processed before; a bit for each frame kept */
bit triggered[3], complete[3];

byte wait_p[2], wait_d[2]; /* lowest numbers that may be handed out */
hidden byte s, number, frames, bound; /* within a step only */

/* bound = number of the first barrier of an id >= n that arrived on c. */
inline find_bound(c, n)
{
	bound = NONE;
	s = 0;
	do
	:: s < next[c] ->
		if
		:: (kind[AT(c, s)] == TIMED || kind[AT(c, s)] == UNALIGNED) && id[AT(c, s)] >= n && bound == NONE ->
			bound = s
		:: else
		fi;
		s++
	:: else -> break
	od
}

inline push(c, what, n)
{
	d_step {
		kind[AT(c, next[c])] = what;
		id[AT(c, next[c])] = n;
		announced[AT(c, next[c])] = (what == TIMED);
#ifndef NO_LATE
		/* T12: what arrives while the channel persists, and before its barrier. */
		if
		:: what == DATA && pending && taken ->
			find_bound(c, current);
			if
			:: bound == NONE -> kept[c] = kept[c] | (1 << (n - 1))
			:: else
			fi
		:: else
		fi;
#endif
		next[c]++
	}
}

proctype producer(byte c)
{
	byte n = 1, sent = 0;

	do
	:: atomic { sent < FRAMES(c) -> sent++; push(c, DATA, sent) }
	:: atomic { n <= 2 -> push(c, TIMED, n); n++ }
	:: atomic { n <= 2 -> push(c, UNALIGNED, n); n++ }
	:: atomic { n <= 2 -> push(c, CANCEL, n); n++ }
	:: atomic { n == 1 -> n++ }
	:: sent == FRAMES(c) && n == 3 -> break
	od;
	producers_done++
}

/* The lowest numbers that either lane of c may hand out now. */
inline look(c)
{
	wait_p[c] = NONE;
	wait_d[c] = NONE;
	s = 0;
	do
	:: s < next[c] && s < closed[c] ->
		if
		:: wait_p[c] == NONE && (announced[AT(c, s)] || moved[AT(c, s)] || (kind[AT(c, s)] == UNALIGNED && !out[AT(c, s)])) ->
			wait_p[c] = s
		:: else
		fi;
		if
		:: wait_d[c] == NONE && !out[AT(c, s)] && !moved[AT(c, s)] && kind[AT(c, s)] != UNALIGNED ->
			wait_d[c] = s
#ifndef NO_ORDER
		:: wait_d[c] == NONE && !out[AT(c, s)] && (moved[AT(c, s)] || kind[AT(c, s)] == UNALIGNED) ->
			wait_d[c] = NONE + 1 /* T34: nothing passes a barrier that waits in the other lane */
#endif
		:: else
		fi;
		s++
	:: else -> break
	od
}

inline unlook()
{
	wait_p[0] = 0;
	wait_p[1] = 0;
	wait_d[0] = 0;
	wait_d[1] = 0
}

inline forget()
{
	pending = 0;
	timed = 0;
	switched = 0;
	taken = 0;
	counted[0] = 0;
	counted[1] = 0;
	known[0] = 0;
	known[1] = 0;
	k[0] = 0;
	k[1] = 0;
	kept[0] = 0;
	kept[1] = 0
}

/* All channels open but the one that number closed just now. */
inline reopen(but)
{
	if
	:: but != 0 -> closed[0] = NONE
	:: else
	fi;
	if
	:: but != 1 -> closed[1] = NONE
	:: else
	fi
}

/* frames = what was sent on c before its barrier n. */
inline frames_before(c, n)
{
	frames = 0;
	s = 0;
	do
	:: s < next[c] ->
		if
		:: kind[AT(c, s)] == DATA -> frames++
		:: (kind[AT(c, s)] == TIMED || kind[AT(c, s)] == UNALIGNED) && id[AT(c, s)] == n -> break
		:: else
		fi;
		s++
	:: else -> assert(false)
	od
}

inline check_cut(c)
{
	frames_before(c, current);
	assert(k[c] <= frames);
	assert(kept[c] == ((1 << frames) - (1 << k[c])))
}

inline trigger()
{
	assert(!triggered[current]);
	assert(current == 2 || !triggered[2]);
	triggered[current] = 1;
	k[0] = processed[0];
	k[1] = processed[1]
}

/* T12: what is queued before the barrier of the channel. */
inline capture(c)
{
	find_bound(c, current);
#ifdef NO_BOUND
	bound = NONE;
#endif
	s = 0;
	do
	:: s < next[c] && s < bound ->
		if
		:: kind[AT(c, s)] == DATA && !out[AT(c, s)] -> kept[c] = kept[c] | (1 << (id[AT(c, s)] - 1))
		:: else
		fi;
		s++
	:: else -> break
	od
}

inline finish()
{
	check_cut(0);
	check_cut(1);
	complete[current] = 1;
	forget();
	reopen(2)
}

/* T14: does a channel show a barrier of a newer id ahead of its data? */
inline see_newer(c)
{
	s = 0;
	do
	:: s < next[c] && s < closed[c] ->
		if
		:: (announced[AT(c, s)] || moved[AT(c, s)] || (kind[AT(c, s)] == UNALIGNED && !out[AT(c, s)])) && id[AT(c, s)] > current ->
			number = NONE + 1
		:: else
		fi;
		s++
	:: else -> break
	od
}

/* T11: the snapshot of an id that has become unaligned, if a barrier is in. */
inline take_unaligned()
{
	if
	:: switched && !taken && (counted[0] || counted[1]) ->
		number = 0;
		see_newer(0);
		see_newer(1);
		if
		:: number > NONE -> /* refused: the id is aborted */
			forget();
			reopen(2)
		:: else ->
			trigger();
			taken = 1;
			capture(0);
			capture(1)
		fi;
		number = 0
	:: else
	fi;
	if
	:: pending && taken && counted[0] && counted[1] -> finish()
	:: else
	fi
}

/* Rule of the switch: announced barriers overtake the data before them. */
inline move(c)
{
	s = 0;
	do
	:: s < next[c] ->
		if
		:: known[c] && !counted[c] && kind[AT(c, s)] == TIMED && id[AT(c, s)] == current && !out[AT(c, s)] ->
			moved[AT(c, s)] = 1
		:: else
		fi;
		s++
	:: else -> break
	od
}

/* T4: an id above the current one; but: the channel that its barrier has closed just now, or 2. */
inline enter(n, may_time_out, but)
{
	if
	:: n > current ->
		if
		:: pending -> reopen(but)
		:: else
		fi;
		forget();
		current = n;
		pending = 1;
		timed = may_time_out
	:: else
	fi
}

inline take_announcement(c)
{
	announced[AT(c, number)] = 0;
	if
	:: id[AT(c, number)] > current || (id[AT(c, number)] == current && pending) ->
		enter(id[AT(c, number)], 1, 2);
		known[c] = 1;
		if
		:: switched -> move(c)
		:: else
		fi
	:: else
	fi
}

inline take_barrier(c)
{
	out[AT(c, number)] = 1;
	moved[AT(c, number)] = 0;
#ifndef NO_CLOSE
	if
	:: kind[AT(c, number)] == TIMED && closed[c] == NONE -> closed[c] = number /* T5 */
	:: else
	fi;
#endif
	if
	:: id[AT(c, number)] > current || (id[AT(c, number)] == current && pending) ->
		enter(id[AT(c, number)], kind[AT(c, number)] == TIMED, (closed[c] == number -> c : 2));
		counted[c] = 1;
		if
		:: kind[AT(c, number)] == UNALIGNED && !switched -> /* T9 */
			switched = 1;
			move(0);
			move(1)
		:: else
		fi;
		if
		:: !switched && counted[0] && counted[1] -> /* aligned, however late */
			trigger();
			finish()
		:: else -> take_unaligned()
		fi
#ifndef NO_STALE
	:: else -> /* T3 */
		if
		:: closed[c] == number -> closed[c] = NONE
		:: else
		fi
#else
	:: else
#endif
	fi
}

inline take_data(c)
{
	if
	:: kind[AT(c, number)] == DATA ->
		out[AT(c, number)] = 1;
		processed[c]++
	:: kind[AT(c, number)] == TIMED -> take_barrier(c)
	:: kind[AT(c, number)] == CANCEL ->
		out[AT(c, number)] = 1;
#ifndef NO_CANCEL
		if
		:: id[AT(c, number)] > current || (id[AT(c, number)] == current && pending) -> /* T15 */
			current = id[AT(c, number)];
			forget();
			reopen(2)
		:: else
		fi
#endif
	fi
}

inline take_priority(c)
{
	if
	:: announced[AT(c, number)] -> take_announcement(c)
	:: else -> take_barrier(c)
	fi
}

/* Nothing moves any more. */
inline check_end()
{
	s = 0;
	do
	:: s < next[0] -> assert(out[AT(0, s)]); s++
	:: else -> break
	od;
	s = 0;
	do
	:: s < next[1] -> assert(out[AT(1, s)]); s++
	:: else -> break
	od;
	number = 0; /* producers that sent the barrier of 2 */
	s = 0;
	do
	:: s < 2 * ITEMS ->
		if
		:: id[s] == 2 && (kind[s] == TIMED || kind[s] == UNALIGNED) -> number++
		:: else
		fi;
		s++
	:: else -> break
	od;
	assert(number < 2 || complete[2])
}

proctype consumer()
{
	closed[0] = NONE;
	closed[1] = NONE;
	do
	:: atomic {
		d_step {
			look(0);
			look(1)
		};
		if
		:: wait_p[0] < NONE -> d_step { number = wait_p[0]; take_priority(0); unlook() }
		:: wait_p[1] < NONE -> d_step { number = wait_p[1]; take_priority(1); unlook() }
		:: wait_d[0] < NONE -> d_step { number = wait_d[0]; take_data(0); unlook() }
		:: wait_d[1] < NONE -> d_step { number = wait_d[1]; take_data(1); unlook() }
		:: pending && timed && !switched -> /* T7 */
			d_step {
				switched = 1;
				timed = 0;
				move(0);
				move(1);
				take_unaligned();
				unlook()
			}
		:: producers_done == 2 && wait_p[0] == NONE && wait_p[1] == NONE && wait_d[0] >= NONE && wait_d[1] >= NONE &&
				!(pending && timed && !switched) ->
			break
		:: producers_done < 2 && wait_p[0] == NONE && wait_p[1] == NONE && wait_d[0] >= NONE && wait_d[1] >= NONE ->
			unlook()
		fi
	}
	od;
	skip;
	d_step { check_end() }
}

init
{
	atomic {
		run producer(0);
		run producer(1);
		run consumer()
	}
}
