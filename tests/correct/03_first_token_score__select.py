# style: select
def first_token_score(A):
    column = A.select(-1, 0)
    return (column.sum(-1) - column[:, 0]) / (A.shape[-1] - 1)
