class Late:
    def encode(self, x):
        print("late")  # GM201
        return x * 2

    def decode(self, x):
        print("never compiled")
        return x * 2
