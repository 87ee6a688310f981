use super::*;

/// What the kernel would answer, by running the program as it would.
fn answer(program: &Program, call: c_long, arguments: [u64; 6]) -> u32 {
    answer_of(program, number(call), ARCHITECTURE, arguments)
}

fn answer_of(program: &Program, number: u32, arch: u32, arguments: [u64; 6]) -> u32 {
    let mut data = vec![0u8; 16];
    data[..4].copy_from_slice(&number.to_le_bytes());
    data[4..8].copy_from_slice(&arch.to_le_bytes());
    data.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
    let load = |at: u32| u32::from_le_bytes(data[at as usize..at as usize + 4].try_into().unwrap());
    let (mut at, mut held) = (0, 0);
    loop {
        let step = program.code()[at];
        at += 1;
        let jump = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
        match step.code {
            LOAD => held = load(step.k),
            AND => held &= step.k,
            EQUAL => at += jump(held == step.k),
            AT_LEAST => at += jump(held >= step.k),
            ANY_BIT => at += jump(held & step.k != 0),
            RETURN => return step.k,
            other => panic!("{other}"),
        }
    }
}

#[test]
fn an_observer_is_told_of_files_and_addresses_and_refuses_nothing() {
    let told = |call, arguments| answer(&OBSERVED, call, arguments) == SECCOMP_RET_USER_NOTIF;
    for call in [libc::SYS_openat, libc::SYS_execve, libc::SYS_connect, libc::SYS_renameat2, FCHMODAT2] {
        assert!(told(call, [0; 6]), "{call}");
    }
    assert!(told(libc::SYS_sendto, [3, 1, 1, 0, 1, 16]));
    for call in [libc::SYS_sendto, libc::SYS_read, libc::SYS_write, libc::SYS_sendmsg, libc::SYS_mount] {
        assert_eq!(answer(&OBSERVED, call, [0; 6]), SECCOMP_RET_ALLOW, "{call}");
    }
}

#[test]
fn a_search_answers_as_the_list_does() {
    let lists = [
        (&FULL, Program::start().common().only_sockets(&[AF_UNIX, AF_INET, AF_INET6, AF_NETLINK])),
        (
            &LANDLOCK_ALL,
            Program::start()
                .common()
                .without_namespaces()
                .only_sockets(&[AF_INET, AF_INET6, AF_NETLINK])
                .only_connected_pairs(),
        ),
        (
            &LANDLOCK_NONE,
            Program::start().common().without_namespaces().only_sockets(&[]).only_connected_pairs(),
        ),
    ];
    let values =
        [0, 1, 2, 3, 0x80, 16, 0x1000_0000, u64::from(low(TIOCSTI)), u64::from(low(TIOCSETD)), u64::MAX];
    for (searched, list) in lists {
        let list = list.list_end();
        for number in (0..520).chain([0x4000_0000, 0x4000_0010, u32::MAX]) {
            for (first, second) in values.iter().flat_map(|first| values.map(|second| (*first, second))) {
                let arguments = [first, second, 0, 0, 0, 0];
                let answers =
                    [searched, &list].map(|program| answer_of(program, number, ARCHITECTURE, arguments));
                assert_eq!(answers[0], answers[1], "{number} {first:x} {second:x}");
            }
        }
        let steps = |program: &Program| (0..460).map(|number| steps_for(program, number)).sum::<usize>();
        assert!(steps(searched) * 4 < steps(&list), "{} {}", steps(searched), steps(&list));
    }
}

/// How many steps it takes to find that a call is not listed, or to come to its part.
fn steps_for(program: &Program, number: u32) -> usize {
    let (mut at, mut steps, mut held) = (0, 0, 0);
    loop {
        let step = program.code()[at];
        (at, steps) = (at + 1, steps + 1);
        let jump = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
        match (step.code, step.k) {
            (LOAD, NUMBER) => held = number,
            (LOAD, ARCH) => held = ARCHITECTURE,
            (EQUAL, value) => at += jump(held == value),
            (AT_LEAST, value) => at += jump(held >= value),
            _ => return steps,
        }
    }
}

const PROGRAMS: [&Program; 5] =
    [&FULL, &FULL_WITHOUT_SCOPES, &FULL_WITHOUT_UNIX, &LANDLOCK_ALL, &LANDLOCK_NONE];
const NO: u32 = SECCOMP_RET_ERRNO | EPERM as u32;

#[test]
fn ordinary_calls_pass_and_dangerous_ones_do_not() {
    for program in PROGRAMS {
        for call in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_ptrace] {
            assert_eq!(answer(program, call, [0; 6]), SECCOMP_RET_ALLOW, "{call}");
        }
        for call in
            [libc::SYS_io_uring_setup, libc::SYS_mount, libc::SYS_keyctl, libc::SYS_setns, libc::SYS_bpf]
        {
            assert_eq!(answer(program, call, [0; 6]), NO, "{call}");
        }
        assert_eq!(answer(program, libc::SYS_clone3, [0; 6]), errno(ENOSYS));
    }
}

#[test]
fn namespaces_are_refused_whatever_else_is_asked_for() {
    for program in PROGRAMS {
        let user = u64::from(CLONE_NEWUSER.cast_unsigned());
        for flags in [user, user | 0x11, user | 0xdead_0000_0000_0000] {
            assert_eq!(answer(program, libc::SYS_clone, [flags, 0, 0, 0, 0, 0]), NO);
            assert_eq!(answer(program, libc::SYS_unshare, [flags, 0, 0, 0, 0, 0]), NO);
        }
        assert_eq!(answer(program, libc::SYS_unshare, [0x80, 0, 0, 0, 0, 0]), NO);
        assert_eq!(answer(program, libc::SYS_clone, [0x003d_0f00, 0, 0, 0, 0, 0]), SECCOMP_RET_ALLOW);
        assert_eq!(answer(program, libc::SYS_unshare, [0x200, 0, 0, 0, 0, 0]), SECCOMP_RET_ALLOW);
    }
}

#[test]
fn a_high_half_hides_no_request() {
    let request = u64::from(low(TIOCSTI));
    for program in PROGRAMS {
        for request in [request, request | 1 << 40] {
            assert_eq!(answer(program, libc::SYS_ioctl, [0, request, 0, 0, 0, 0]), NO);
        }
        assert_eq!(answer(program, libc::SYS_ioctl, [0, 0x5401, 0, 0, 0, 0]), SECCOMP_RET_ALLOW);
    }
}

#[test]
fn sockets_are_those_of_the_level() {
    let asked = [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, libc::AF_PACKET, libc::AF_VSOCK, libc::AF_ALG];
    for (program, open) in PROGRAMS.into_iter().zip([4, 4, 3, 3, 0]) {
        let allowed = asked.iter().filter(|family| {
            let family = u64::from(family.cast_unsigned());
            answer(program, libc::SYS_socket, [family, 1, 0, 0, 0, 0]) == SECCOMP_RET_ALLOW
        });
        assert_eq!(allowed.count(), open);
    }
    // What follows the sockets in the program is still reached.
    assert_eq!(answer(&FULL, libc::SYS_socket, [2 | 1 << 32, 1, 0, 0, 0, 0]), SECCOMP_RET_ALLOW);
}

#[test]
fn a_pair_of_sockets_stays_a_pair_where_sockets_are_closed() {
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    let pair = |program, kind: i32| {
        let kind = u64::from((kind | flags).cast_unsigned());
        answer(program, libc::SYS_socketpair, [1, kind, 0, 0, 0, 0])
    };
    for program in PROGRAMS {
        for kind in [SOCK_STREAM, SOCK_SEQPACKET] {
            assert_eq!(pair(program, kind), SECCOMP_RET_ALLOW);
        }
    }
    for program in [&FULL_WITHOUT_UNIX, &LANDLOCK_ALL, &LANDLOCK_NONE] {
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            assert_eq!(pair(program, kind), NO);
        }
    }
    assert_eq!(pair(&FULL, libc::SOCK_DGRAM), SECCOMP_RET_ALLOW);
}

#[test]
fn the_own_group_is_signalled_only_where_landlock_keeps_signals_apart() {
    for (program, expected) in
        [(&FULL, SECCOMP_RET_ALLOW), (&FULL_WITHOUT_SCOPES, NO), (&FULL_WITHOUT_UNIX, NO)]
    {
        assert_eq!(answer(program, libc::SYS_kill, [0, 9, 0, 0, 0, 0]), expected);
        assert_eq!(answer(program, libc::SYS_kill, [7, 9, 0, 0, 0, 0]), SECCOMP_RET_ALLOW);
    }
}

#[test]
fn priorities_are_those_of_one_process() {
    for program in PROGRAMS {
        for (call, own) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
            for which in 0..4 {
                let expected = if which == own { SECCOMP_RET_ALLOW } else { NO };
                assert_eq!(answer(program, call, [which, 0, 0, 0, 0, 0]), expected, "{call} {which}");
            }
        }
    }
}

#[test]
fn other_machines_numbers_kill_and_x32_is_absent() {
    for program in PROGRAMS {
        assert_eq!(answer_of(program, 0, 0x4000_0003, [0; 6]), SECCOMP_RET_KILL_PROCESS);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(answer_of(program, 0x4000_0000, ARCHITECTURE, [0; 6]), errno(ENOSYS));
        }
    }
}

#[test]
fn only_a_read_that_truncates_is_refused_where_landlock_cannot() {
    let open = |flags: i32| {
        answer(&WITHOUT_TRUNCATE, libc::SYS_openat, [0, 0, u64::from(flags.cast_unsigned()), 0, 0, 0])
    };
    assert_eq!(open(O_TRUNC), NO);
    assert_eq!(open(O_TRUNC | 3), NO);
    assert_eq!(open(O_TRUNC | libc::O_WRONLY), SECCOMP_RET_ALLOW);
    assert_eq!(open(0), SECCOMP_RET_ALLOW);
    assert_eq!(answer(&WITHOUT_TRUNCATE, libc::SYS_truncate, [0; 6]), NO);
}
